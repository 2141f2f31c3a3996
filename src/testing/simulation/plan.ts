import type { Definition } from '../../ledger/types.js'
import { Random } from '../random.js'
import type { Act } from './acts.js'
import { planActs } from './acts.js'
import { randomDefinition, type Setting } from './definitions.js'
import { type HandlerPlan, randomHandler } from './handler-plan.js'
import { type PokePlan, randomPokes, withPokes } from './pokers.js'
import { CHANGES, offsetAt, SKEWS, ZONES } from './zones.js'

/** Kinds of trouble. A seed has some of them: where one is absent the checkers can be strict about what it excuses. */
export const FAMILIES = [
  'network',
  'outage',
  'crash',
  'pause',
  'suspend',
  'handlers',
  'clock',
  'restore',
  'zones',
  'deploys',
  'operators',
  'stops',
  'wall',
  'business',
] as const

export type Family = (typeof FAMILIES)[number]

export interface NodePlan {
  readonly name: string
  /** One way to the store, milliseconds: usual, and at most. */
  readonly latencyMs: readonly [usual: number, most: number]
  readonly maxRuns: number
  readonly wallOffsetMs: number
  readonly wallRate: number
  readonly knowsSuspend: boolean
  readonly skew: string | null
  /** When it is started first, after the beginning. */
  readonly startsAfterMs: number
}

export interface JobPlan {
  readonly id: string
  /** By release; null: the release does not carry the job. */
  readonly releases: readonly (Definition | null)[]
  readonly handler: HandlerPlan
  readonly pokes: PokePlan | null
}

/**
 * Most simulations are brief: short leases, quick faults, so that many of them fit into a minute. Some are long, for what
 * needs its time: roll-backs, a minute of silence, backlogs of a hundred.
 */
export type Pace = 'brief' | 'long'

/** Everything about a simulation that is decided before it begins; all else follows from it and the seed. */
export interface Plan {
  readonly seed: number
  readonly pace: Pace
  readonly start: number
  /** How long faults go on, milliseconds, and how long the fleet is then watched. */
  readonly chaosMs: number
  readonly calmMs: number
  readonly leaseMs: number
  readonly families: ReadonlySet<Family>
  readonly nodes: readonly NodePlan[]
  readonly jobs: readonly JobPlan[]
  readonly acts: readonly Act[]
}

const MINUTE = 60_000

/** How many simulations are long. */
const LONG = 0.07

export function planOf(seed: number): Plan {
  const random = new Random(`plan/${seed}`)
  const families = new Set<Family>()
  if (!random.chance(0.08)) {
    const share = random.pick([0.15, 0.3, 0.5])
    for (const family of FAMILIES) if (random.chance(share)) families.add(family)
  }
  const pace: Pace = random.chance(LONG) ? 'long' : 'brief'
  const isBrief = pace === 'brief'
  const chaosMs = isBrief ? random.int(11_000, 20_000) : random.int(50_000, 115_000)
  const setting = settingOf(random, families, chaosMs, pace)
  const nodes = Array.from({ length: random.pick(isBrief ? [2, 2, 2, 3, 3, 3, 4, 5] : [2, 3, 3, 4, 5]) }, (_, index) =>
    nodePlan(random, `n${index + 1}`, families),
  )
  const releases = families.has('deploys') ? random.int(2, 3) : 1
  const jobs = Array.from({ length: random.pick(isBrief ? [2, 2, 3] : [2, 3, 3, 4]) }, (_, index) =>
    jobPlan(random, index, setting, releases, families),
  )
  const leaseMs = random.pick(isBrief ? [3_000, 3_000, 4_000] : [10_000, 10_000, 6_000])
  // A finished roll-back takes a minute and a beat to be noticed.
  const quietMs = isBrief ? 12_000 : families.has('deploys') ? 75_000 : 45_000
  const basis = {
    seed,
    pace,
    start: setting.start,
    chaosMs,
    calmMs: leaseMs * 2 + quietMs,
    leaseMs,
    families,
    nodes,
    jobs,
  }
  return { ...basis, acts: planActs(random.fork('acts'), basis, releases) }
}

/** Half of all simulations begin shortly before some zone's clock is moved. */
function settingOf(random: Random, families: ReadonlySet<Family>, chaosMs: number, pace: Pace): Setting {
  const nearChange = families.has('zones') || random.chance(0.4)
  const [zone, change] = nearChange ? random.pick(CHANGES) : (['UTC', Date.UTC(2026, 10, 29, 10, 7)] as const)
  const start = change - random.int(pace === 'brief' ? 6_000 : 20_000, chaosMs) + random.int(0, 999)
  const offset = offsetAt(ZONES[zone] ?? [], start)
  return { zone, start, hour: Math.floor((start + offset) / (60 * MINUTE)) % 24, pace }
}

function nodePlan(random: Random, name: string, families: ReadonlySet<Family>): NodePlan {
  const usual = random.pick([1, 3, 10, 40])
  const wall = families.has('wall') && random.chance(0.6)
  return {
    name,
    latencyMs: [usual, usual * random.pick([2, 5])],
    maxRuns: random.pick([2, 5, 100, 100]),
    wallOffsetMs: wall ? random.pick([-3_600_000, 3_600_000, -5_000, 400]) : 0,
    wallRate: wall ? random.pick([1, 1, 2, 0.5]) : 1,
    knowsSuspend: families.has('wall') || random.chance(0.5),
    skew: families.has('zones') && random.chance(0.6) ? random.pick(Object.keys(SKEWS)) : null,
    startsAfterMs: random.int(0, 3_000),
  }
}

function jobPlan(
  random: Random,
  index: number,
  setting: Setting,
  releases: number,
  families: ReadonlySet<Family>,
): JobPlan {
  // The first job is due every few seconds under all its terms: no simulation is about nothing.
  const often = index === 0
  const first = randomDefinition(random, setting, often)
  const all: (Definition | null)[] = [first]
  for (let release = 1; release < releases; release += 1) {
    const before = all.at(-1) ?? first
    const isLeftOut = !often && random.chance(0.1)
    const keeps = random.chance(0.3)
    all.push(isLeftOut ? null : keeps ? before : randomDefinition(random, setting, often, before))
  }
  const handler = randomHandler(random, families.has('handlers'), setting.pace)
  const pokes = randomPokes(random.fork(`pokes/${index}`), setting.pace)
  return { id: `j${index + 1}`, releases: withPokes(all, pokes), handler, pokes }
}
