import { afterAll, beforeAll, expect, it } from 'vitest'
import { creation, fresh, header, queued } from '../src/testing/store/builders.js'
import { PostgresPlace } from './postgres/place.js'
import { TestSession } from './postgres/session.js'
import { sharedServer } from './servers/index.js'

let place: PostgresPlace
beforeAll(async () => {
  place = new PostgresPlace((await sharedServer('postgres')).url)
})
afterAll(() => place.remove())

/** What is no JSON, and what only together with its surroundings looks like some. */
const TEXTS = ['', '{', '{},{}', 'null],[null', '[],[', 'null', '"{}"', '7', '{"job":"billing:other"}']

it.each(TEXTS.flatMap((text) => (['header', 'body', 'content'] as const).map((column) => [column, text] as const)))(
  'a job whose %s is %j is named, and no other is left out or changed',
  async (column, text) => {
    const store = place.store(`${column} ${text}`)
    await store.open()
    const session = await TestSession.begin(store)
    const jobs = ['billing:1', 'billing:2', 'billing:3']
    const due = { wakeAt: 1 }
    await session.commit(
      ...jobs.map((job) => creation(job, job, { header: header(job, due), runs: [fresh(queued(job, 'k'))] })),
    )
    const before = await session.attend()
    expect([before.jobs.length, before.unreadable]).toEqual([3, []])
    const table = { header: 'job', body: 'run', content: 'definition' }[column]
    await place.sql(`UPDATE SCHEMA.${table} SET ${column} = $1 WHERE fleet = $2 AND job = 'billing:2'`, [
      text,
      `${column} ${text}`,
    ])
    const seen = await session.attend()
    expect(seen.unreadable).toEqual([{ job: 'billing:2', why: expect.stringMatching(/^(its|a run|the run k) .{5}/) }])
    expect(seen.jobs).toEqual(before.jobs.filter(({ header: { job } }) => job !== 'billing:2'))
    const loaded = await store.load({ jobs })
    expect([[...loaded.jobs.values()], loaded.unreadable]).toEqual([seen.jobs, seen.unreadable])
    await store.close()
  },
)
