import { isFree } from './books.js'
import type { Cashier } from './cashier.js'
import { boot, endOf, inBackground, sleptOut, stopped, takeoverOf, undisturbed } from './moves.js'
import type { NodeProcess } from './node-process.js'
import { type Deeds, type Scene, TRIES } from './scene.js'
import { DemoFailure, type Heard } from './stage.js'
import { clockOf } from './story.js'

/** A node that waits for the provider's answer, and for which customer's. */
interface Sending {
  readonly node: NodeProcess
  readonly period: string
  readonly reference: string
  readonly since: number
}

/** SIGKILL of the node that waits for the provider's answer, when the money has moved. */
export async function killInSend(scene: Scene, deeds: Deeds): Promise<void> {
  const { stage, story } = scene
  const { node, period, reference, since } = await strikeInSend(scene, 'SIGKILL')
  await stage.end(node, 5_000)
  deeds.killedInSend += 1
  story.say(node.name, `SIGKILL in its request for ${shortened(reference)}: charged, and nobody was told`)
  await takeoverOf(scene, period, node, since)
  await endOf(stage, period, since)
  inBackground(scene, boot(scene, [`${node.name}"`], node.release))
}

/** SIGSTOP of the node that waits for the provider's answer, until its run is another's; then SIGCONT, and the answer comes. */
export async function stopInSend(scene: Scene, deeds: Deeds): Promise<void> {
  const { stage, story } = scene
  const { node, period, reference, since } = await stopOneInSend(scene)
  const stoppedAt = performance.now()
  story.say(node.name, `SIGSTOP in its request for ${shortened(reference)}`)
  await takeoverOf(scene, period, node, since)
  await sleptOut(scene, stoppedAt)
  deeds.stoppedInSend += 1
  deeds.stoppedInSendMs = Math.round(performance.now() - stoppedAt)
  story.say(node.name, `SIGCONT after ${deeds.stoppedInSendMs} ms: the answer to its request is waiting`)
  const woken = stage.history.length
  node.signal('SIGCONT')
  const accept = (heard: Heard<'refused'>) => heard.node === node && heard.by === 'fence'
  await stage.next('refused', {
    what: `the late write of ${node.name} is refused`,
    withinMs: 10_000,
    since: woken,
    accept,
  })
  await endOf(stage, period, since)
}

/** The provider fails in every way it knows, one charge after the other. */
export async function misbehave(scene: Scene): Promise<void> {
  const { dice, story } = scene
  const cashier = cashierOf(scene)
  const faults = dice.shuffled(['answer-lost', 'error-after', 'reset', 'error-before', 'slow'] as const)
  for (const fault of faults) cashier.fault(fault)
  story.say('', `the provider fails five times: ${faults.join(', ')}`)
  while (cashier.pending > 0) await undisturbed(scene)
}

/** A node that holds a lock on a file would stop it for everybody: then it goes on, and another charge is waited for. */
async function stopOneInSend(scene: Scene): Promise<Sending> {
  for (let tries = 1; tries <= TRIES; tries++) {
    const sending = await strikeInSend(scene, 'SIGSTOP')
    await stopped(sending.node)
    if (scene.files.every(isFree)) return sending
    sending.node.signal('SIGCONT')
  }
  throw new DemoFailure(`${TRIES} times no node could be stopped in a request: this machine is too busy`)
}

/** What a node tells may be heard after what it does: a charge whose sender is not known yet is left alone. */
async function strikeInSend(scene: Scene, signal: 'SIGKILL' | 'SIGSTOP'): Promise<Sending> {
  for (let tries = 1; tries <= TRIES; tries++) {
    const struck = await cashierOf(scene).inSend((reference) => strike(scene, reference, signal))
    if (struck !== null) return struck
  }
  throw new DemoFailure(`${TRIES} times nobody knew who sent a charge: this machine is too busy`)
}

function strike({ stage }: Scene, reference: string, signal: 'SIGKILL' | 'SIGSTOP'): Sending | null {
  const [, period = ''] = /^charge:(\d{4}-\d\d-\d\dT[\d:]+Z):/.exec(reference) ?? []
  const node = workerOn(stage.history, period)
  if (node === undefined) return null
  if (signal === 'SIGKILL') node.mayEnd = true
  node.signal(signal)
  return { node, period, reference, since: stage.history.length }
}

/** Who began it last. */
function workerOn(history: readonly Heard[], period: string): NodeProcess | undefined {
  return history.filter((heard) => heard.type === 'began' && heard.period === period).at(-1)?.node
}

function cashierOf({ cashier }: Scene): Cashier {
  if (cashier === null) throw new DemoFailure('there is no provider in this demonstration')
  return cashier
}

function shortened(reference: string): string {
  return reference.replace(
    /^charge:(.*Z):(.*)$/,
    (_, period: string, id: string) => `customer ${id} of period ${clockOf(period)}`,
  )
}
