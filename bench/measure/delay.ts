import { withProcesses } from '../children.js'
import { median, pause, percentile } from '../figures.js'
import type { FleetPlan, Start } from '../plan.js'
import type { Stage } from './stage.js'

/** Jobs that are due together at each tick, so that a percentile has something to stand on. */
const JOBS = 10

/** How long after their instants the handlers of each second are called, on three nodes with nothing else to do. */
export async function measureStartDelay(
  stage: Stage,
): Promise<{ readonly startDelayP50Ms: number; readonly startDelayP99Ms: number }> {
  const { ticks } = stage.scale
  const jobs = [{ prefix: 'tick', count: JOBS, cron: '* * * * * *' }]
  const starts = await startsOf(stage, { ...(await stage.place()), jobs }, ticks * 1_000)
  const delays = starts.map(({ atMs, dueMs }) => atMs - dueMs)
  return { startDelayP50Ms: percentile(delays, 0.5), startDelayP99Ms: percentile(delays, 0.99) }
}

/** From burst to burst. */
const PERIOD_MS = 10_000

/** How long after an instant at which so many jobs are due the last of them is started. */
export async function measureBurst(stage: Stage): Promise<{ readonly burst1000LastStartMs: number }> {
  const { burstJobs, bursts } = stage.scale
  const jobs = [{ prefix: 'burst', count: burstJobs, cron: '*/10 * * * * *' }]
  const starts = await startsOf(stage, { ...(await stage.place()), jobs }, bursts * PERIOD_MS)
  const byInstant = new Map<number, number[]>()
  for (const { atMs, dueMs } of starts) byInstant.set(dueMs, [...(byInstant.get(dueMs) ?? []), atMs - dueMs])
  const whole = [...byInstant.values()].filter((delays) => delays.length === burstJobs)
  return { burst1000LastStartMs: median(whole.map((delays) => Math.max(...delays))) }
}

/** What three nodes start in a while, once they know of each other. */
async function startsOf(stage: Stage, plan: FleetPlan, ms: number): Promise<Start[]> {
  return withProcesses(stage.script, 3, async (nodes) => {
    for (const node of nodes) await node.node(plan)
    await pause(WARM_UP_MS)
    for (const node of nodes) await node.take()
    const from = Date.now()
    await pause(ms + 1_000)
    const seen = await Promise.all(nodes.map((node) => node.take()))
    return seen.flatMap(({ starts }) => starts).filter(({ dueMs }) => dueMs > from && dueMs <= from + ms)
  })
}

/** Nodes learn of each other by their beats. */
const WARM_UP_MS = 11_000
