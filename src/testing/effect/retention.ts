import assert from 'node:assert/strict'
import { refused, type Site, type TestApi, type WithBench } from './bench.js'
import { lost } from './call-bench.js'

type Test = TestApi['test']

const DAY_MS = 86_400_000

export function retentionSuite<Tx>(test: Test, withBench: WithBench<Tx>): void {
  test(
    'keys that are settled and older than is kept are removed page by page, and only those',
    withBench(async ({ site }) => {
      const here = await site({ retention: '30d' })
      const run = here.attempt(1)
      for (const key of ['a', 'b', 'c', 'd', 'e']) await run.once(key, () => key)
      await run.call('confirmed', { send: () => 'yes' })
      const never = { send: lost, retry: 0, keyValidFor: 0 }
      for (const key of ['open', 'settled late']) await refused('EFFECT_UNCERTAIN', () => run.call(key, never))
      await age(here, 31, `<> 'e'`)
      await here.effects.resolve('settled late', { confirmed: 1, by: 'ada', why: 'seen' })
      const removed: number[] = []
      let after: string | null = null
      do {
        const page = await here.effects.prune({ after, limit: 3 })
        removed.push(page.removed)
        after = page.next
      } while (after !== null)
      assert.equal(removed.length, 3)
      assert.equal(removed[0], 3)
      assert.deepEqual(await keysOf(here), ['e', 'open', 'settled late'])
      assert.deepEqual(await here.effects.prune({ after: null, limit: 10 }), { removed: 0, next: null })
      assert.equal(await run.once('a', () => 'made again'), 'made again')
    }),
  )

  test(
    'another application’s keys are left alone, and without the option all are',
    withBench(async ({ site }) => {
      const here = await site({ retention: '30d', prefix: 'here:' })
      const there = await site({ prefix: 'there:' })
      await here.attempt(1).once('k', () => 1)
      await there.attempt(1).once('k', () => 1)
      await age(here, 31, `<> ''`)
      assert.deepEqual(await there.effects.prune({ after: null, limit: 10 }), { removed: 0, next: null })
      assert.equal((await here.effects.prune({ after: null, limit: 10 })).removed, 1)
      assert.deepEqual(await keysOf(here), ['there:k'])
    }),
  )

  test(
    'fences that nobody has raised for as long go after the keys, page by page, and only the fleet’s own',
    withBench(async ({ site }) => {
      const here = await site({ retention: '30d' })
      const resources = ['f/j/a', 'f/j/b', 'f/j/c', 'f/j/late', 'named', 'g/j/a']
      for (const resource of resources) assert.deepEqual(await here.effects.raise(resource, 7), { raised: true })
      await here.effects.once('k', () => 1)
      await here.execute(
        `UPDATE fleetcron_fence SET updated_at = updated_at - ${31 * DAY_MS} WHERE resource <> 'f/j/late'`,
      )
      assert.deepEqual(await here.effects.prune({ after: null, limit: 100 }), { removed: 0, next: null })
      const removed: number[] = []
      let after: string | null = null
      do {
        const page = await here.effects.prune({ after, limit: 2, fleet: 'f' })
        removed.push(page.removed)
        after = page.next
      } while (after !== null)
      assert.equal(
        removed.reduce((sum, count) => sum + count),
        3,
      )
      const rows = await here.execute('SELECT resource FROM fleetcron_fence')
      assert.deepEqual(rows.map(({ resource }) => String(resource)).sort(), ['f/j/late', 'g/j/a', 'named'])
      assert.deepEqual(await here.effects.raise('f/j/a', 6), { raised: true })
      assert.deepEqual(await here.effects.raise('f/j/late', 6), { raised: false, token: 7 })
    }),
  )
}

/** Sets back when they were made, and until when they were sent. */
async function age<Tx>(site: Site<Tx>, days: number, which: string): Promise<void> {
  await site.execute(
    `UPDATE fleetcron_effect SET created_at = created_at - ${days * DAY_MS},
  sending_until = sending_until - ${days * DAY_MS} WHERE ${keyIn(site)} ${which}`,
  )
}

async function keysOf<Tx>(site: Site<Tx>): Promise<string[]> {
  const rows = await site.execute(`SELECT ${keyIn(site)} AS name FROM fleetcron_effect`)
  return rows.map(({ name }) => String(name)).sort()
}

function keyIn<Tx>({ adapter }: Site<Tx>): string {
  return adapter.dialect === 'mysql' ? '`key`' : 'key'
}
