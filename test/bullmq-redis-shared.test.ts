import { once } from 'node:events'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createMemoryStore } from '../src/store/memory/index.js'
import { Bench } from './bullmq/bench.js'
import { sharedServer } from './servers/index.js'

let bench: Bench
beforeEach(async () => {
  bench = new Bench((await sharedServer('redis')).url)
})
afterEach(() => bench.end())

it('a poke in a queue that two fleets share says so where the wrong one takes it', async () => {
  const often = { cron: '*/2 * * * * *', timeZone: 'UTC' } as const
  const events = await bench.events('shared')
  const failed = once(events, 'failed')
  const web = { fleet: 'web', attends: false, store: createMemoryStore() }
  await bench.node([['often', often, () => 'never']], web, { queue: 'shared' })
  const shop = { fleet: 'shop', store: createMemoryStore() }
  const { fleet } = await bench.node([['other', often, () => 'done']], shop, { queue: 'shared' })
  const [{ failedReason }] = await failed
  expect(failedReason).toBe(
    "This poke is for fleet 'web', and fleet 'shop' took it: give each fleet a queue of its own.",
  )
  expect((await fleet.runs()).every(({ job }) => job === 'app:other')).toBe(true)
})
