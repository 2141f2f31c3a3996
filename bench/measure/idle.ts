import { withProcesses } from '../children.js'
import { pause } from '../figures.js'
import type { Stage } from './stage.js'

/** Beats come every 10 s: a node that has begun is left alone for that long before it is watched. */
const SETTLING_MS = 12_000

/** What one of two nodes sends to the store in a minute in which nothing is due, by number of jobs. */
export async function measureIdle(
  stage: Stage,
): Promise<{ readonly idleStatementsPerMinute: Readonly<Record<'10' | '1000' | '100000', number>> }> {
  const [few = 10, many = 1_000, most = 100_000] = stage.scale.idleJobs
  return {
    idleStatementsPerMinute: {
      '10': await idle(stage, few),
      '1000': await idle(stage, many),
      '100000': await idle(stage, most),
    },
  }
}

async function idle(stage: Stage, count: number): Promise<number> {
  const { idleMs } = stage.scale
  const jobs = [{ prefix: 'daily', count, cron: 'daily' as const }]
  const plan = { ...(await stage.place()), jobs }
  return withProcesses(stage.script, 2, async (nodes) => {
    for (const node of nodes) await node.node(plan)
    await pause(Math.min(SETTLING_MS, idleMs))
    const before = await Promise.all(nodes.map((node) => node.take()))
    await pause(idleMs)
    const after = await Promise.all(nodes.map((node) => node.take()))
    const sent = after.map(({ statements }, index) => statements - (before[index]?.statements ?? 0))
    const perNode = sent.reduce((sum, each) => sum + each, 0) / nodes.length
    return (perNode * 60_000) / idleMs
  })
}
