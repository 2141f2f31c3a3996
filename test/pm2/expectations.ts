import { expect } from 'vitest'
import type { Played, Row } from './play.js'

const SECOND = 1_000

/** One run for each occurrence: by the ledger, and by what the handlers themselves have said. */
export function expectOneRunForEach({ before, reloaded, killed, after, rowsOfReload, rows, said }: Played): void {
  expect([before, reloaded, after].map((pids) => new Set(pids).size)).toEqual([4, 4, 4])
  expect(reloaded.filter((pid) => before.includes(pid))).toEqual([])
  expect(after).not.toContain(killed.pid)

  // A reload drains: no handler was called twice, and no run was lost. One that was given to a node just as it was asked to end
  // was handed back uncalled: a second attempt by the ledger, a first call.
  const calls = said.filter(({ what }) => what === 'begun').map(({ key }) => key)
  expect(ended(rowsOfReload).map(({ key, state }) => [state, calls.filter((called) => called === key).length])).toEqual(
    ended(rowsOfReload).map(() => ['succeeded', 1]),
  )

  const done = ended(rows)
  expect(done.length).toBeGreaterThan(10)
  expect(new Set(done.map(({ state }) => state))).toEqual(new Set(['succeeded']))
  expect(done.filter(({ attempt }) => attempt > 1).map(({ key }) => key)).toContain(killed.key)
  // What still waited when all nodes were stopped is the newest.
  expect(rows.length - done.length).toBeLessThan(3)

  // Every second once: no gap, nothing covered twice.
  const follows = done
    .slice(1)
    .map(({ covers }, index) => Date.parse(covers.from) - Date.parse(done[index]?.covers.to ?? ''))
  expect(follows).toEqual(follows.map(() => SECOND))

  const ends = said.filter(({ what }) => what === 'done').map(({ key }) => key)
  expect(new Set(ends).size).toBe(ends.length)
  expect(ends.sort()).toEqual(done.map(({ key }) => key).sort())
}

function ended(rows: readonly Row[]): Row[] {
  return rows.filter(({ state }) => state !== 'queued' && state !== 'running')
}
