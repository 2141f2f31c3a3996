import { NodeProcess, withProcesses } from '../children.js'
import { median, pause, percentile, wallMs } from '../figures.js'
import type { Start } from '../plan.js'
import type { Stage } from './stage.js'

export interface Takeover {
  readonly takeoverKillMs: { readonly p50: number; readonly max: number }
  readonly takeoverTermMs: number
}

/** Between two beats of a node that holds a run; a node is ended at a random moment of it. */
const BEAT_MS = 3_400

/** From a node's end to the next attempt of the run that it held, with default options. */
export async function measureTakeover(stage: Stage): Promise<Takeover> {
  const killed = await takeovers(stage, stage.scale.kills, 'SIGKILL')
  const ended = await takeovers(stage, stage.scale.terms, 'SIGTERM')
  return {
    takeoverKillMs: { p50: median(killed), max: percentile(killed, 1) },
    takeoverTermMs: median(ended),
  }
}

/** So many fleets at once: each has a run on a process of its own, and one process has the other node of all. */
async function takeovers(stage: Stage, count: number, signal: 'SIGKILL' | 'SIGTERM'): Promise<number[]> {
  return withProcesses(stage.script, 1, async ([survivor]) => {
    if (survivor === undefined) throw new Error('There is no process to go on.')
    const victims: Victim[] = []
    try {
      for (let index = 0; index < count; index += 1) victims.push(await makeVictim(stage, survivor))
      await pause(BEAT_MS)
      const ends = new Map(await Promise.all(victims.map((victim) => end(victim, signal))))
      const starts = await secondAttempts(survivor, count)
      return starts.map(({ fleet, atMs }) => atMs - (ends.get(fleet) ?? Number.NaN))
    } finally {
      await Promise.all(victims.map(({ node }) => node.signal('SIGKILL')))
    }
  })
}

interface Victim {
  readonly fleet: string
  readonly node: NodeProcess
}

async function makeVictim(stage: Stage, survivor: NodeProcess): Promise<Victim> {
  const place = await stage.place()
  const { fleet } = place
  const plan = { ...place, jobs: [{ prefix: 'long', count: 1, cron: null, isLong: true }] }
  const node = await NodeProcess.start(stage.script)
  await node.node(plan)
  await node.ask({ do: 'trigger', fleet, job: 'long0' })
  while ((await node.take()).starts.length === 0) await pause(20)
  await survivor.node(plan)
  return { fleet, node }
}

async function end({ fleet, node }: Victim, signal: 'SIGKILL' | 'SIGTERM'): Promise<readonly [string, number]> {
  await pause(Math.random() * BEAT_MS)
  const endedAt = wallMs()
  void node.signal(signal)
  return [fleet, endedAt]
}

async function secondAttempts(survivor: NodeProcess, count: number): Promise<Start[]> {
  const found: Start[] = []
  const deadline = wallMs() + 60_000
  while (found.length < count) {
    if (wallMs() > deadline) throw new Error(`Only ${found.length} of ${count} runs were taken over within a minute.`)
    await pause(50)
    found.push(...(await survivor.take()).starts)
  }
  return found
}
