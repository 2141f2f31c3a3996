import type { Random } from '../random.js'
import type { Plan } from './plan.js'
import { SKEWS } from './zones.js'

/** Something that is done to the fleet at an instant, milliseconds after the beginning. */
export type Act = { readonly at: number } & Deed

export type Deed =
  | { readonly act: 'start'; readonly node: string; readonly release?: number; readonly skew?: string | null }
  | { readonly act: 'kill'; readonly node: string }
  | { readonly act: 'stop'; readonly node: string; readonly graceMs: number }
  | { readonly act: 'pause' | 'suspend' | 'resume'; readonly node: string }
  | { readonly act: 'step-wall'; readonly node: string; readonly byMs: number }
  /** The store cannot be reached, by one node or by all; `refused`: and says so at once. */
  | { readonly act: 'store-away'; readonly node: string | null; readonly refused: boolean }
  | { readonly act: 'store-back'; readonly node: string | null }
  | { readonly act: 'step-store'; readonly byMs: number }
  /** `rewind`: only the cursors of its jobs are set back, the rows stay. */
  | { readonly act: 'snapshot' | 'restore' | 'wipe' | 'rewind' }
  | { readonly act: 'business-away' | 'business-back' }
  | {
      readonly act: 'ask'
      readonly command: Command
      readonly job: string
      readonly node: string
      readonly again: boolean
    }

export type Command = 'trigger' | 'pause' | 'resume' | 'cancel' | 'backfill' | 'retry' | 'retire'

type Basis = Omit<Plan, 'acts'>

/** The acts of a simulation, in the order of time. What is not undone by then is undone when the calm begins. */
export function planActs(random: Random, plan: Basis, releases: number): Act[] {
  const acts: Act[] = plan.nodes.map(({ name, startsAfterMs }) => ({ at: startsAfterMs, act: 'start', node: name }))
  const { families } = plan
  const several = (most: number) => random.int(1, most)
  if (families.has('crash')) for (let n = several(4); n > 0; n -= 1) crash(random, plan, acts)
  if (families.has('pause')) for (let n = several(3); n > 0; n -= 1) sleep(random, plan, acts, 'pause')
  if (families.has('suspend')) for (let n = several(2); n > 0; n -= 1) sleep(random, plan, acts, 'suspend')
  if (families.has('stops')) for (let n = several(3); n > 0; n -= 1) stop(random, plan, acts)
  if (families.has('outage')) for (let n = several(3); n > 0; n -= 1) outage(random, plan, acts)
  if (families.has('clock')) for (let n = several(2); n > 0; n -= 1) stepStore(random, plan, acts)
  if (families.has('restore')) restore(random, plan, acts)
  if (families.has('business')) for (let n = several(2); n > 0; n -= 1) businessAway(random, plan, acts)
  if (families.has('deploys')) deploy(random, plan, acts, releases)
  if (families.has('operators')) for (let n = several(14); n > 0; n -= 1) ask(random, plan, acts)
  if (families.has('wall')) stepWall(random, plan, acts)
  // Everybody is started when the calm begins, and nothing is done to anybody from then on.
  return acts.filter((act) => act.at <= plan.chaosMs).sort((a, b) => a.at - b.at)
}

function some(random: Random, plan: Basis): string {
  return random.pick(plan.nodes).name
}

function moment(random: Random, plan: Basis): number {
  const edgeMs = plan.pace === 'brief' ? 4_000 : 5_000
  return random.int(edgeMs, plan.chaosMs - edgeMs)
}

function crash(random: Random, plan: Basis, acts: Act[]): void {
  const node = some(random, plan)
  const at = moment(random, plan)
  acts.push({ at, act: 'kill', node })
  const back = at + random.pick(plan.pace === 'brief' ? [50, 2_000, 6_000, 20_000] : [50, 2_000, 14_000, 40_000])
  if (back < plan.chaosMs) acts.push({ at: back, act: 'start', node })
}

function sleep(random: Random, plan: Basis, acts: Act[], act: 'pause' | 'suspend'): void {
  const node = some(random, plan)
  const at = moment(random, plan)
  const forMs = Math.round(plan.leaseMs * random.pick([0.3, 1.05, 1.5, 3]))
  acts.push({ at, act, node }, { at: Math.min(plan.chaosMs, at + forMs), act: 'resume', node })
}

function stop(random: Random, plan: Basis, acts: Act[]): void {
  const node = some(random, plan)
  const at = moment(random, plan)
  acts.push({ at, act: 'stop', node, graceMs: random.pick([0, 1_000, 5_000]) })
  acts.push({ at: at + random.pick(plan.pace === 'brief' ? [3_000, 8_000] : [8_000, 20_000]), act: 'start', node })
}

function outage(random: Random, plan: Basis, acts: Act[]): void {
  const node = random.chance(0.5) ? some(random, plan) : null
  const at = moment(random, plan)
  const back = at + Math.round(plan.leaseMs * random.pick([0.3, 0.8, 1.5, 4]))
  acts.push({ at, act: 'store-away', node, refused: random.chance(0.4) })
  acts.push({ at: Math.min(plan.chaosMs, back), act: 'store-back', node })
}

function stepStore(random: Random, plan: Basis, acts: Act[]): void {
  const byMs = random.pick([-120_000, -15_000, -2_000, 2_000, 15_000, 120_000])
  const at = moment(random, plan)
  acts.push({ at, act: 'step-store', byMs })
  // Two minutes back nothing is due for two minutes: somebody sets it right.
  const back = Math.min(plan.chaosMs, at + random.int(5_000, 30_000))
  if (byMs === -120_000) acts.push({ at: back, act: 'step-store', byMs: 120_000 })
}

function restore(random: Random, plan: Basis, acts: Act[]): void {
  const at = moment(random, plan)
  const lot = random.unit()
  // A backup or a replica on a host whose clock is behind: fences have shown tokens that the ledger has not reached.
  if (random.chance(0.3)) acts.push({ at, act: 'step-store', byMs: random.pick([-2_000, -15_000]) })
  if (lot < 0.2) {
    acts.push({ at, act: 'wipe' })
    return
  }
  if (lot < 0.5) {
    acts.push({ at: Math.max(4_000, at - random.pick([6_000, 40_000])), act: 'snapshot' }, { at, act: 'rewind' })
    return
  }
  acts.push({ at: Math.max(4_000, at - random.pick([500, 6_000, 40_000])), act: 'snapshot' }, { at, act: 'restore' })
}

function businessAway(random: Random, plan: Basis, acts: Act[]): void {
  const at = moment(random, plan)
  const back = Math.min(plan.chaosMs, at + random.pick([1_000, 8_000, 45_000]))
  acts.push({ at, act: 'business-away' }, { at: back, act: 'business-back' })
}

/** A roll, node by node, sometimes taken back, sometimes with an old or new node that cannot stay up. */
function deploy(random: Random, plan: Basis, acts: Act[], releases: number): void {
  let at = Math.round(moment(random, plan) / 3)
  const isBrief = plan.pace === 'brief'
  const targets = [1, ...(releases > 2 ? [2] : []), ...(random.chance(0.4) ? [0] : [])]
  for (const release of targets) {
    for (const { name } of plan.nodes) {
      if (random.chance(0.15)) continue
      const skew = plan.families.has('zones') && random.chance(0.5) ? random.pick([null, ...Object.keys(SKEWS)]) : null
      acts.push(random.chance(0.5) ? { at, act: 'kill', node: name } : { at, act: 'stop', node: name, graceMs: 1_000 })
      at += isBrief ? random.int(300, 2_500) : random.int(1_500, 9_000)
      acts.push({ at, act: 'start', node: name, release, ...(skew === null ? {} : { skew }) })
    }
    at += random.pick(isBrief ? [500, 4_000] : [1_000, 20_000, 60_000])
  }
  if (random.chance(0.4)) crashLoop(random, plan, acts, random.int(0, releases - 1))
}

function crashLoop(random: Random, plan: Basis, acts: Act[], release: number): void {
  const node = some(random, plan)
  let at = moment(random, plan)
  for (let count = random.int(3, 8); count > 0; count -= 1) {
    acts.push({ at, act: 'kill', node })
    at += random.int(300, 2_000)
    acts.push({ at, act: 'start', node, release })
    at += random.int(200, 4_000)
  }
}

const COMMANDS = [
  'trigger',
  'trigger',
  'trigger',
  'pause',
  'resume',
  'cancel',
  'cancel',
  'backfill',
  'retry',
  'retire',
] as const

function ask(random: Random, plan: Basis, acts: Act[]): void {
  const { id } = random.pick(plan.jobs)
  const command = random.pick(COMMANDS)
  if (command === 'retire' && (id === 'j1' || !random.chance(0.3))) return
  const at = moment(random, plan)
  acts.push({
    at,
    act: 'ask',
    command,
    job: id,
    node: some(random, plan),
    again: command === 'trigger' && random.chance(0.5),
  })
  if (command === 'pause') {
    const node = some(random, plan)
    acts.push({
      at: Math.min(plan.chaosMs, at + random.int(5_000, plan.pace === 'brief' ? 15_000 : 60_000)),
      act: 'ask',
      command: 'resume',
      job: id,
      node,
      again: false,
    })
  }
}

function stepWall(random: Random, plan: Basis, acts: Act[]): void {
  acts.push({
    at: moment(random, plan),
    act: 'step-wall',
    node: some(random, plan),
    byMs: random.pick([-3_600_000, -700, 700, 3_600_000]),
  })
}
