import { withProcesses } from '../children.js'
import { median } from '../figures.js'
import type { Stage } from './stage.js'

/** A node with many jobs starts on a ledger that has none of them: until it is ready, and the whole process then. */
export async function measureRegistration(
  stage: Stage,
): Promise<{ readonly register10000Ms: number; readonly register10000RssMb: number }> {
  const jobs = [{ prefix: 'daily', count: stage.scale.registeredJobs, cron: 'daily' as const }]
  const all: { readonly ms: number; readonly rssMb: number }[] = []
  for (let round = 0; round < stage.scale.rounds; round += 1) {
    const plan = { ...(await stage.place()), jobs }
    all.push(...(await withProcesses(stage.script, 1, (nodes) => Promise.all(nodes.map((node) => node.node(plan))))))
  }
  return {
    register10000Ms: median(all.map(({ ms }) => ms)),
    register10000RssMb: median(all.map(({ rssMb }) => rssMb)),
  }
}
