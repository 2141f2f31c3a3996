import { describe, expect, it } from 'vitest'
import { FleetWorld, job } from './fleet/world.js'

describe('a store whose cursors were set back, with its rows in place', () => {
  it('is brought forward before a pause is carried out, which swallows nothing', async () => {
    const world = new FleetWorld()
    const a = world.node('a', [job('it', () => undefined)])
    await world.started(a)
    const earlier = world.store.snapshot().tables.jobs.map(({ row }) => row.header.cursor)
    await world.until(10 * 60_000)
    const { tables } = world.store.snapshot()
    const jobs = tables.jobs.map(({ row, runs, ...rest }, i) => {
      const header = { ...row.header, cursor: earlier[i] ?? row.header.cursor, lastFate: null }
      // One row was lost with the cursor: its occurrence is due again.
      return { ...rest, row: { ...row, header }, runs: runs.filter(({ run }) => !run.key.endsWith('12:04Z')) }
    })
    world.store.restore({ tables: { ...tables, jobs } })
    const pausing = a.node.commands.pause('app:it')
    await world.pass(20_000)
    await pausing
    const rows = await world.rows('it')
    expect(rows).toHaveLength(10)
    expect(rows.filter((row) => row.includes('missed'))).toEqual([])
    expect((await world.store.load({ jobs: ['app:it'] })).jobs.get('app:it')?.header.pause).not.toBeNull()
    expect(rows.find((row) => row.startsWith('12:04Z'))).toMatch(/^12:04Z (succeeded|queued)/)
  })
})
