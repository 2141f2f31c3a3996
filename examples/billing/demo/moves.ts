import type { NodeProcess } from './node-process.js'
import { PERIOD_WAIT_MS, type Scene } from './scene.js'
import { DemoFailure, type Heard, type Stage } from './stage.js'

export const BOOT_MS = 40_000

export async function boot({ stage }: Scene, names: readonly string[], release: string): Promise<void> {
  const since = stage.history.length
  for (const name of names) stage.start(name, { release })
  const ready = (name: string) =>
    stage.next('ready', { what: `${name} is up`, withinMs: BOOT_MS, since, accept: ({ node }) => node.name === name })
  await Promise.all(names.map(ready))
}

/** A period that nothing happens to: it begins and ends. */
export async function undisturbed({ stage }: Scene): Promise<void> {
  const since = stage.history.length
  const begun = await stage.next('began', { what: 'a period begins', withinMs: PERIOD_WAIT_MS, since })
  await endOf(stage, begun.period, since)
}

export function endOf(stage: Stage, period: string, since: number): Promise<Heard<'ended'>> {
  const accept = (heard: Heard<'ended'>) => heard.period === period && heard.outcome === 'succeeded'
  return stage.next('ended', { what: `period ${period} ends`, withinMs: PERIOD_WAIT_MS, since, accept })
}

/** The next node to work on the period after another one stopped doing so. */
export function takeoverOf(scene: Scene, period: string, from: NodeProcess, since: number): Promise<Heard<'began'>> {
  return scene.stage.next('began', {
    what: `somebody takes period ${period} over from ${from.name}`,
    withinMs: scene.leaseMs + 10_000,
    since,
    accept: (heard) => heard.period === period && heard.node !== from,
  })
}

/** What goes on while the play does; it has to come off before the end. */
export function inBackground({ stage, background }: Scene, work: Promise<void>): void {
  background.push(work.catch((error) => stage.fail(error)))
}

/** Until the pause is longer than the lease for sure: a takeover comes sooner, since a lease runs from the last beat. */
export async function sleptOut({ stage, leaseMs }: Scene, stoppedAt: number): Promise<void> {
  const accept = () => performance.now() - stoppedAt > leaseMs + 100
  if (!accept()) await stage.next('invoiced', { what: 'others go on', withinMs: PERIOD_WAIT_MS, accept })
}

/** Signals take effect soon, not at once: the operating system is asked, turn by turn. */
export async function stopped(node: NodeProcess): Promise<void> {
  const giveUpAt = performance.now() + 2_000
  while (!node.isStopped()) {
    if (performance.now() > giveUpAt) throw new DemoFailure(`${node.name} (process ${node.pid}) does not stop`)
    await new Promise((resolve) => setImmediate(resolve))
  }
}
