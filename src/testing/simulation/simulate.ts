import type { Act } from './acts.js'
import type { Violation } from './checkers/checker.js'
import { Checkers } from './checkers/index.js'
import type { Observation } from './observations.js'
import { Operator } from './operator.js'
import { type Plan, planOf } from './plan.js'
import { startPokers } from './pokers.js'
import { traceLine } from './trace.js'
import { World } from './world.js'

export interface SimulationReport {
  readonly seed: number
  /** Empty: everything held. */
  readonly violations: readonly Violation[]
  /** Occurrences that the ledger decided. */
  readonly occurrences: number
  /** Events of virtual time. */
  readonly events: number
  /** How often each fault struck, and what else was counted. */
  readonly counts: ReadonlyMap<string, number>
}

export interface SimulateOptions {
  /** Called with each line of the history: the same seed gives the same lines, byte for byte. */
  readonly trace?: (line: string) => void
}

/** Every simulation decides at least so many, and goes on for so long at most to get there, milliseconds. */
const OCCURRENCES_LEAST = 20
const LONGER_MS = 60_000

/** More events than any seed needs: virtual time that does not pass is a defect of its own. */
const EVENTS_MOST = 400_000

/** Runs one simulation from its seed, and says what did not hold. */
export async function simulate(seed: number, options: SimulateOptions = {}): Promise<SimulationReport> {
  const plan = planOf(seed)
  const { trace } = options
  trace?.(`seed ${seed} ${JSON.stringify({ ...plan, families: [...plan.families] })}`)
  let watching: Checkers | null = null
  const report = (seen: Observation) => {
    trace?.(traceLine(plan.start, seen))
    for (const violation of watching?.see(seen) ?? []) trace?.(`!! ${violation.rule}: ${violation.what}`)
  }
  const world = new World(plan, report)
  const checkers = new Checkers(world)
  watching = checkers
  const failure = await play(world, plan, () => checkers.occurrences())
  const violations = [...checkers.end(), ...(failure ? [failure] : [])]
  const events = world.clock.turns
  return { seed, violations, occurrences: checkers.occurrences(), events, counts: world.tally.counts }
}

async function play(world: World, plan: Plan, occurrences: () => number): Promise<Violation | null> {
  const { clock } = world
  const operator = new Operator(world)
  if (plan.families.has('network')) {
    const random = world.random.fork('weather')
    const some = () => random.pick([0, 0.01, 0.04, 0.1])
    world.network.weather = { requestLost: some(), replyLost: some(), late: some(), doubled: some(), slow: some() }
  }
  for (const act of plan.acts) clock.at(plan.start + act.at, () => perform(world, operator, act))
  clock.at(plan.start + plan.chaosMs, () => calm(world, operator))
  startPokers(world)
  try {
    const end = plan.start + plan.chaosMs + plan.calmMs
    await clock.run(end, EVENTS_MOST)
    // A simulation of which nothing was due for a while goes on until it is worth its while.
    while (occurrences() < OCCURRENCES_LEAST && clock.now < end + LONGER_MS) {
      operator.resumeAll()
      await clock.run(clock.now + 2_000)
    }
    return null
  } catch (error) {
    const what = error instanceof Error ? (error.stack ?? error.message) : String(error)
    return { rule: 'simulation', at: clock.now, what }
  }
}

function perform(world: World, operator: Operator, act: Act): void {
  switch (act.act) {
    case 'start':
      world.start(act.node, act.release, act.skew)
      break
    case 'kill':
      world.kill(act.node)
      break
    case 'stop':
      world.stop(act.node, act.graceMs)
      break
    case 'pause':
      world.sleep(act.node, 'paused')
      break
    case 'suspend':
      world.sleep(act.node, 'suspended')
      break
    case 'resume':
      world.resume(act.node)
      break
    case 'step-wall':
      world.stepWall(act.node, act.byMs)
      break
    case 'store-away':
      world.away(act.node, act.refused ? 'refused' : 'silent')
      break
    case 'store-back':
      world.back(act.node)
      break
    case 'step-store':
      world.stepStore(act.byMs)
      break
    case 'snapshot':
      world.takeSnapshot()
      break
    case 'restore':
      world.restore()
      break
    case 'rewind':
      world.rewind()
      break
    case 'wipe':
      world.wipe()
      break
    case 'business-away':
    case 'business-back':
      world.business.away = act.act === 'business-away'
      world.tally.count(act.act)
      break
    case 'ask':
      operator.ask(act)
  }
}

/** Every fault ends; whoever is away comes back, and what hangs is cancelled. */
function calm(world: World, operator: Operator): void {
  world.network.weather = { requestLost: 0, replyLost: 0, late: 0, doubled: 0, slow: 0 }
  for (const node of [...world.network.away.keys()]) world.back(node === '*' ? null : node)
  world.business.away = false
  for (const { name } of world.plan.nodes) {
    world.resume(name)
    world.start(name)
  }
  world.beginCalm()
  operator.tidy()
}
