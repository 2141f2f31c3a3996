import { type NodeProcess, withProcesses } from '../children.js'
import { median, pause } from '../figures.js'
import { batchedRate, type Floor, singleRate } from '../floor/floor.js'
import type { FleetPlan, JobPlan, Seen } from '../plan.js'
import type { Stage } from './stage.js'

export interface Throughput {
  readonly floorBatched: number
  readonly floorSingle16: number
  readonly endToEnd: number
  readonly endToEndSingle: number
  readonly ratioBatched: number
  readonly ratioSingle: number
}

/** Runs that a node takes at a time here; tiny handlers end at once. */
const MAX_RUNS = 1_000

/** The fleet is watched for so long at most. */
const WATCHED_MS = 20_000

/** Floor and fleet take turns, so that both meet the same machine. */
export async function measureThroughput(stage: Stage, makeFloor: () => Promise<Floor>): Promise<Throughput> {
  const { rounds, floorMs } = stage.scale
  const floorBatched: number[] = []
  const floorSingle: number[] = []
  const endToEnd: number[] = []
  const endToEndSingle: number[] = []
  for (let round = 0; round < rounds; round += 1) {
    const floor = await makeFloor()
    try {
      floorBatched.push(await batchedRate(floor, floorMs))
      endToEnd.push(await eachSecond(stage))
      floorBatched.push(await batchedRate(floor, floorMs))
      floorSingle.push(await singleRate(floor, floorMs))
      endToEndSingle.push(await oneQueue(stage))
      floorSingle.push(await singleRate(floor, floorMs))
    } finally {
      await floor.end()
    }
  }
  const figures = {
    floorBatched: median(floorBatched),
    floorSingle16: median(floorSingle),
    endToEnd: median(endToEnd),
    endToEndSingle: median(endToEndSingle),
  }
  return {
    ...figures,
    ratioBatched: figures.endToEnd / figures.floorBatched,
    ratioSingle: figures.endToEndSingle / figures.floorSingle16,
  }
}

/** A thousand jobs of each second, some seconds behind, all at once: occurrences per second while three nodes work it off. */
async function eachSecond(stage: Stage): Promise<number> {
  const { jobsEachSecond, behindSeconds } = stage.scale
  const concurrency = behindSeconds * 2
  const jobs = { prefix: 'tick', count: jobsEachSecond, cron: '* * * * * *', isCaughtUp: true, concurrency }
  return workedOff(stage, jobs, jobsEachSecond * behindSeconds, () => pause(behindSeconds * 1_000))
}

/** One job, sixteen runs at a time, with a long queue. */
async function oneQueue(stage: Stage): Promise<number> {
  const { queuedRuns } = stage.scale
  const jobs = { prefix: 'one', count: 1, cron: '* * * * *', concurrency: 16 }
  return workedOff(stage, jobs, queuedRuns, async (asker, { fleet }) => {
    await asker.ask({ do: 'queue', fleet, job: 'one0', count: queuedRuns })
  })
}

/** Runs per second while three nodes work off what is due, or for as long as they are watched at most. */
async function workedOff(
  stage: Stage,
  jobs: JobPlan,
  total: number,
  fill: (asker: NodeProcess, plan: FleetPlan) => Promise<unknown>,
): Promise<number> {
  const plan: FleetPlan = { ...(await stage.place()), jobs: [jobs], maxRuns: MAX_RUNS }
  return withProcesses(stage.script, 4, async ([asker, ...nodes]) => {
    if (asker === undefined) throw new Error('There is no process to ask.')
    await asker.node({ ...plan, attends: false })
    await Promise.all([fill(asker, plan), warmUp(stage, nodes)])
    await Promise.all(nodes.map((node) => node.node(plan)))
    return rateOf(await settledUpTo(nodes, total), total)
  })
}

/** A node that has run for a while has its code compiled: what a deployment's first second costs is another question. */
async function warmUp(stage: Stage, nodes: readonly NodeProcess[]): Promise<void> {
  const { jobsEachSecond, warmMs } = stage.scale
  const jobs = { prefix: 'warm', count: jobsEachSecond, cron: '* * * * * *' }
  const plan: FleetPlan = { ...(await stage.place()), jobs: [jobs], maxRuns: MAX_RUNS }
  await Promise.all(nodes.map((node) => node.node(plan)))
  await pause(warmMs)
  await Promise.all(nodes.map((node) => node.ask({ do: 'stop' })))
  await Promise.all(nodes.map((node) => node.take()))
}

async function settledUpTo(nodes: readonly NodeProcess[], total: number): Promise<Seen['settled'][number][]> {
  const settled: Seen['settled'][number][] = []
  const deadline = performance.now() + WATCHED_MS
  for (let count = 0; count < total && performance.now() < deadline; ) {
    await pause(100)
    for (const node of nodes) {
      for (const each of (await node.take()).settled) {
        settled.push(each)
        count += each[1]
      }
    }
  }
  return settled.sort((a, b) => a[0] - b[0])
}

/** Without the first runs, while the nodes begin, and the last, which wait for each other. */
function rateOf(settled: readonly Seen['settled'][number][], total: number): number {
  const seen = Math.min(
    total,
    settled.reduce((sum, [, count]) => sum + count, 0),
  )
  let count = 0
  let from: readonly [atMs: number, count: number] | null = null
  for (const [atMs, more] of settled) {
    count += more
    if (from === null && count >= seen * 0.2) from = [atMs, count]
    else if (from !== null && count >= seen * 0.95) return ((count - from[1]) / Math.max(1, atMs - from[0])) * 1_000
  }
  return Number.NaN
}
