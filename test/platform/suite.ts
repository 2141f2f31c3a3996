import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { begun, type Door, Platform } from './platform.js'

/** What a platform does to processes, on any store: it fires twice, and it kills. */
export function firesTwiceAndKills(
  name: string,
  makeDoor: () => Promise<Door>,
  ledger: () => string | undefined,
): void {
  describe(name, () => {
    let door: Door
    let platform: Platform
    beforeAll(async () => {
      door = await makeDoor()
    })
    afterAll(() => door.command.remove())
    beforeEach(() => {
      platform = new Platform(door, ledger())
    })
    afterEach(() => platform.remove())

    it('early: the occurrence is waited for, and nothing else is run', async () => {
      const { code, runs } = await platform.fired('often')
      expect(code).toBe(0)
      expect(runs.length).toBeGreaterThan(0)
      expect(runs.every(({ state }) => state === 'succeeded')).toBe(true)
      // On a busy machine another one comes due before the process has stopped: it is told as well.
      expect(platform.worked().sort()).toEqual(runs.map(({ key }) => key).sort())
    })

    it('twice at once: the occurrence has one run, and both are told how it ended', async () => {
      const both = await Promise.all([platform.fired('often'), platform.fired('often')])
      expect(both.map(({ code }) => code)).toEqual([0, 0])
      const keys = platform.worked()
      expect(new Set(keys).size).toBe(keys.length)
      for (const { runs } of both) {
        expect(runs.length).toBeGreaterThan(0)
        expect(runs.every(({ key, state }) => state === 'succeeded' && keys.includes(key))).toBe(true)
      }
    })

    it('a job that waits for a poke: the process is the poke', async () => {
      const { code, runs } = await platform.fired('poked')
      expect(code).toBe(0)
      expect(runs).toContainEqual(expect.objectContaining({ state: 'succeeded', attempt: 1 }))
      expect(platform.worked().sort()).toEqual(runs.map(({ key }) => key).sort())
    })

    it('killed in the middle: the next start does the work', async () => {
      const first = platform.start('deadly')
      await begun(first)
      const [key] = platform.worked().map((line) => line.replace('begun ', ''))
      first.child.kill('SIGKILL')
      expect((await first.ended).code).toBeNull()
      const second = await platform.fired('deadly', '--early', '0s')
      expect(second.runs).toContainEqual(expect.objectContaining({ key, state: 'succeeded', attempt: 2 }))
      expect(platform.worked().filter((line) => line === key)).toHaveLength(1)
      expect(second.code).toBe(0)
    })
  })
}
