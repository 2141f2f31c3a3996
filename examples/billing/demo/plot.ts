import { setTimeout } from 'node:timers/promises'
import { stepOf } from '../shared/messages.js'
import { isFree } from './books.js'
import { killInSend, misbehave, stopInSend } from './charging.js'
import { close } from './ending.js'
import type { DefinitionInForce } from './ledgers.js'
import { BOOT_MS, boot, endOf, inBackground, sleptOut, stopped, takeoverOf, undisturbed } from './moves.js'
import { type Deeds, PERIOD_WAIT_MS, type Scene, TRIES } from './scene.js'
import { DemoFailure, type Heard } from './stage.js'
import { clockOf } from './story.js'

const OLD = '1.0.0'
const NEW = '2.0.0'
const CRASHES = 3

/** Plays every fault once, in the order and at the points that the dice say. */
export async function play(scene: Scene): Promise<Deeds> {
  const { stage, dice } = scene
  const deeds: Deeds = {
    killed: 0,
    invoicesBeforeKill: 0,
    takeoverMs: 0,
    paused: 0,
    pausedMs: 0,
    lateWritesRefused: 0,
    definitions: null,
    outageMs: null,
    killedInSend: 0,
    stoppedInSend: 0,
    stoppedInSendMs: 0,
  }
  await boot(scene, ['A', 'B', 'C'], OLD)
  await undisturbed(scene)
  const ofServer = scene.server === null ? [] : [restartServer]
  const ofProvider = scene.cashier === null ? [] : [killInSend, stopInSend, misbehave]
  for (const act of dice.shuffled([kill, pause, deploy, ...ofServer, ...ofProvider])) {
    await act(scene, deeds)
    await undisturbed(scene)
  }
  await close(scene, deeds)
  deeds.lateWritesRefused = stage.history.filter((heard) => heard.type === 'refused' && heard.by === 'fence').length
  return deeds
}

/** The moment at which a node has made so many invoices of a period, and not all. */
function inMidPeriod({ stage, customers, dice }: Scene): Promise<Heard<'invoiced'>> {
  const step = stepOf(customers)
  const wanted = Math.max(1, Math.min(customers - 1, Math.round(customers * (0.05 + 0.55 * dice.next()))))
  return stage.next('invoiced', {
    what: `a node has made ${wanted} of ${customers} invoices of a period`,
    withinMs: PERIOD_WAIT_MS,
    accept: ({ done, of }) => done >= wanted && done < Math.min(of, wanted + 2 * step),
  })
}

/** SIGKILL of the node that is working, after some and before all invoices of its period. It is started again, as it would be. */
async function kill(scene: Scene, deeds: Deeds): Promise<void> {
  const { story, customers, dice } = scene
  const returnsAtOnce = dice.coin()
  for (let tries = 1; tries <= TRIES; tries++) {
    const { node, period, since, at, invoices } = await killInMidPeriod(scene)
    deeds.killed += 1
    const restart = () => boot(scene, [`${node.name}'`], node.release)
    if (invoices === 0 || invoices === customers) {
      story.say('', 'the kill was not in the middle; once more')
      await restart()
      continue
    }
    deeds.invoicesBeforeKill = invoices
    const takeover = async () => {
      const taken = await takeoverOf(scene, period, node, since)
      deeds.takeoverMs = ((await scene.books.ledger.beganAt(period, taken.attempt)) ?? Number.NaN) - at
      story.say(taken.node.name, `took over ${deeds.takeoverMs} ms after the kill`)
      await endOf(scene.stage, period, since)
    }
    if (returnsAtOnce) inBackground(scene, restart())
    await takeover()
    if (!returnsAtOnce) inBackground(scene, restart())
    return
  }
  throw new DemoFailure(`${TRIES} kills came too late: this machine is too busy for the demonstration`)
}

async function killInMidPeriod(scene: Scene) {
  const { stage, story, books, customers } = scene
  const { node, period } = await inMidPeriod(scene)
  const since = stage.history.length
  const at = Date.now()
  node.mayEnd = true
  node.signal('SIGKILL')
  await stage.end(node, 5_000)
  const invoices = books.invoicesOf(period)
  story.say(node.name, `SIGKILL after ${invoices} of ${customers} invoices of period ${clockOf(period)}`)
  return { node, period, since, at, invoices }
}

/** SIGSTOP of the node that is working, between two customers, until its run is another's; then SIGCONT. */
async function pause(scene: Scene, deeds: Deeds): Promise<void> {
  const { stage, story, books, customers, dice, guarded } = scene
  const { node, period } = await stopBetweenCustomers(scene)
  const since = stage.history.length
  const stoppedAt = performance.now()
  story.say(
    node.name,
    `SIGSTOP after ${books.invoicesOf(period)} of ${customers} invoices of period ${clockOf(period)}`,
  )
  await takeoverOf(scene, period, node, since)
  if (dice.coin()) await endOf(stage, period, since)
  await sleptOut(scene, stoppedAt)
  deeds.paused += 1
  deeds.pausedMs = Math.round(performance.now() - stoppedAt)
  story.say(node.name, `SIGCONT after ${deeds.pausedMs} ms: it goes on where it was`)
  const woken = stage.history.length
  node.signal('SIGCONT')
  const mine = (heard: Heard) => heard.node === node
  if (guarded) {
    const accept = (heard: Heard<'refused'>) => mine(heard) && heard.by === 'fence'
    const what = `the late write of ${node.name} is refused`
    await stage.next('refused', { what, withinMs: 10_000, since: woken, accept })
  } else {
    await stage.next('ended', { what: `${node.name} ends its period`, withinMs: 10_000, since: woken, accept: mine })
  }
  await endOf(stage, period, since)
}

/**
 * Stops a node in mid-period while it holds no lock on either file. A process stopped inside a transaction would stop the
 * file for everybody (on SQLite; a test of its own): then it goes on to its next customer, and is stopped there.
 */
async function stopBetweenCustomers(scene: Scene): Promise<Heard<'invoiced'>> {
  const { books, customers, files } = scene
  for (let tries = 1; tries <= TRIES; tries++) {
    const heard = await inMidPeriod(scene)
    const { node, period } = heard
    node.signal('SIGSTOP')
    await stopped(node)
    const invoices = books.invoicesOf(period)
    if (invoices > 0 && invoices < customers && files.every(isFree)) return heard
    node.signal('SIGCONT')
  }
  throw new DemoFailure(`${TRIES} times no node could be stopped between two customers: this machine is too busy`)
}

/** A fourth node brings a changed definition, an old one starts and crashes again and again. */
async function deploy(scene: Scene, deeds: Deeds): Promise<void> {
  const { stage, story, books, guarded } = scene
  const before = guarded ? await books.ledger.definition() : null
  story.say('D', `joins with release ${NEW}: its terms of the job have changed`)
  await boot(scene, ['D'], NEW)
  if (before !== null) deeds.definitions = { before, joined: await definitionAfter(scene, before), after: null }
  for (let crash = 1; crash <= CRASHES; crash++) {
    const node = stage.start('E', { release: OLD, broken: true })
    const { code } = await stage.end(node, BOOT_MS)
    story.say('E', `an old node, release ${OLD}, exits with code ${code} (${crash} of ${CRASHES})`)
    if (code !== 1) throw new DemoFailure(`E was to exit with code 1. Its last lines:\n${node.output()}`)
  }
}

/** The definition that follows: a node that is up may have to enter its terms a second time, where the first was in doubt. */
async function definitionAfter({ stage, books }: Scene, before: DefinitionInForce): Promise<DefinitionInForce> {
  for (;;) {
    const since = stage.history.length
    const found = await books.ledger.definition()
    if (found.hash !== before.hash) return found
    await stage.next('ended', { what: 'a run ends', withinMs: PERIOD_WAIT_MS, since })
  }
}

/** Kills the ledger's server in mid-period, as a power cut does, and starts it again after as much as two leases. */
async function restartServer(scene: Scene, deeds: Deeds): Promise<void> {
  const { stage, story, dice, server, leaseMs } = scene
  if (server === null) return
  const { node, period } = await inMidPeriod(scene)
  const since = stage.history.length
  const killedAt = performance.now()
  story.say(node.name, `works on period ${clockOf(period)} while the server of the ledger is killed`)
  await server.kill()
  await setTimeout(dice.next() * 2 * leaseMs)
  await server.again()
  deeds.outageMs = Math.round(performance.now() - killedAt)
  story.say('', `the server of the ledger is back after ${deeds.outageMs} ms`)
  await endOf(stage, period, since)
}
