import { expect, it } from 'vitest'
import { FleetWorld, job, untilSignal } from './fleet/world.js'

const DAILY = { schedule: { cron: '1 12 * * *', timeZone: 'UTC', dstGap: 'next' } } as const

/**
 * The node that runs `long` is killed, and others stand before its successor in the line of those who watch its end. The
 * successor's beats come so long after theirs.
 */
async function takenOverAt(name: string, offsetMs: number): Promise<number | undefined> {
  const world = new FleetWorld()
  const starts: number[] = []
  const holder = world.node('holder', [job('long', untilSignal, DAILY)])
  const strangers = ['a', 'b', 'c', 'd'].map((name) => world.node(name, [job('other', () => undefined, DAILY)]))
  const successor = world.node(name, [job('long', () => void starts.push(world.clock.elapsed), DAILY)])
  await world.started(holder)
  await world.until(31_000)
  for (const { node } of strangers) void node.start()
  await world.until(32_000 + offsetMs)
  void successor.node.start()
  await world.until(45_000)
  holder.process.kill()
  await world.until(70_000)
  return starts[0]
}

it('finds the run of a dead node also where others, which do not carry its job, have noticed the end first', async () => {
  const late: string[] = []
  // Names decide who stands where in the line.
  for (const name of ['e', 'f', 'g', 'h']) {
    for (let offsetMs = 0; offsetMs < 10_000; offsetMs += 100) {
      const at = await takenOverAt(name, offsetMs)
      // A lease of ten seconds, one beat, and a second.
      if (at === undefined || at > 45_000 + 21_000) late.push(`${name} ${offsetMs}: ${at}`)
    }
  }
  expect(late).toEqual([])
})
