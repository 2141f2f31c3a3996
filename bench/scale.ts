/** How much each measure does. */
export interface Scale {
  /** Times that floor and fleet take turns. */
  readonly rounds: number
  /** A floor is measured for so long each time. */
  readonly floorMs: number
  /** Seconds that a thousand jobs of each second are behind when the fleet begins. */
  readonly behindSeconds: number
  /** How long the nodes do other work first. */
  readonly warmMs: number
  readonly jobsEachSecond: number
  readonly queuedRuns: number
  readonly ticks: number
  readonly idleJobs: readonly number[]
  /** How long idle nodes are watched. */
  readonly idleMs: number
  readonly kills: number
  readonly terms: number
  readonly registeredJobs: number
  readonly burstJobs: number
  readonly bursts: number
}

export const FULL: Scale = {
  rounds: 3,
  floorMs: 1_500,
  behindSeconds: 20,
  warmMs: 10_000,
  jobsEachSecond: 1_000,
  queuedRuns: 10_000,
  ticks: 60,
  idleJobs: [10, 1_000, 100_000],
  idleMs: 60_000,
  kills: 20,
  terms: 5,
  registeredJobs: 10_000,
  burstJobs: 1_000,
  bursts: 5,
}

export const QUICK: Scale = {
  ...FULL,
  rounds: 1,
  floorMs: 1_000,
  behindSeconds: 10,
  warmMs: 8_000,
  ticks: 15,
  idleMs: 30_000,
  kills: 5,
  terms: 2,
  bursts: 3,
}

/** So little that only the shape of what comes out means anything. */
export const TINY: Scale = {
  rounds: 1,
  floorMs: 50,
  behindSeconds: 2,
  warmMs: 100,
  jobsEachSecond: 10,
  queuedRuns: 50,
  ticks: 2,
  idleJobs: [10, 1_000, 100_000].map(() => 10),
  idleMs: 100,
  kills: 1,
  terms: 1,
  registeredJobs: 20,
  burstJobs: 10,
  bursts: 1,
}
