import assert from 'node:assert/strict'
import { change, MINUTE, SECOND, START, settlement } from './builders.js'
import type { Cases, World } from './world.js'

/** For stores that tell at once when a job becomes due earlier. -1 stands for any bucket. */
export const WAKES: Cases = {
  'a commit that makes a job due earlier is told, on another connection too': async (w) => {
    const far = await w.connect()
    await w.attend(await w.begin(), {}, far)
    const [near, distant] = [await listen(w.store), await listen(far)]
    await w.job('billing:a', { bucket: 9, wakeAt: START + MINUTE })
    assert.ok([9, -1].includes(await near.next()))
    assert.ok([9, -1].includes(await distant.next()))
    await w.attend(await w.begin(), {}, far)
    await w.won(change('c1', await w.read('billing:a'), { head: { wakeAt: START + SECOND } }))
    assert.ok([9, -1].includes(await near.next()))
    assert.ok([9, -1].includes(await distant.next()))
    await near.end()
    await distant.end()
  },

  'a settlement that makes a job due earlier is told': async (w) => {
    const session = await w.begin()
    const waiting = { schedule: 1, manual: 0, backlog: 0 }
    const run = await w.running(session, 'billing:a', { bucket: 9, wakeAt: START + MINUTE, waiting })
    const far = await w.connect()
    await w.attend(session, {}, far)
    const distant = await listen(far)
    w.pass(SECOND)
    await w.store.settle([settlement(run, w.now)])
    assert.ok([9, -1].includes(await distant.next()))
    await distant.end()
  },

  'a settlement after which a job is due at once is told': async (w) => {
    const session = await w.begin()
    const run = await w.running(session, 'billing:a', { bucket: 9, wakeAt: START + MINUTE })
    const far = await w.connect()
    await w.attend(session, {}, far)
    const distant = await listen(far)
    w.pass(SECOND)
    await w.store.settle([settlement(run, w.now, { wakeAt: 0 })])
    assert.ok([9, -1].includes(await distant.next()))
    await distant.end()
  },

  'a job that is left alone long past its time hides no other': async (w) => {
    await w.job('billing:left', { bucket: 1, wakeAt: START - MINUTE })
    const far = await w.connect()
    const session = await w.begin()
    await w.attend(session, {}, far)
    const distant = await listen(far)
    w.pass(SECOND)
    await w.attend(session, {}, far)
    await w.job('billing:a', { bucket: 9, wakeAt: w.now })
    assert.ok([9, -1].includes(await distant.next()))
    await distant.end()
  },

  'a change that was decided before somebody else looked is told to him': async (w) => {
    const read = await w.job('billing:a', { bucket: 9, wakeAt: START + MINUTE })
    const far = await w.connect()
    const session = await w.begin()
    w.pass(50)
    await w.attend(session, {}, far)
    const distant = await listen(far)
    w.pass(50)
    await w.attend(session, {}, far)
    await w.won(change('c1', read, { head: { wakeAt: START + 20 } }))
    assert.ok([9, -1].includes(await distant.next()))
    await distant.end()
  },

  'a job that becomes due after another one, but earlier than it was, is told too': async (w) => {
    await w.job('billing:soon', { bucket: 1, wakeAt: START + SECOND })
    const later = await w.job('billing:later', { bucket: 9, wakeAt: START + MINUTE })
    const far = await w.connect()
    await w.attend(await w.begin(), {}, far)
    const distant = await listen(far)
    await w.won(change('c1', later, { head: { wakeAt: START + 2 * SECOND } }))
    // What was told of the first job may come late.
    let told = await distant.next()
    while (told === 1) told = await distant.next()
    assert.ok([9, -1].includes(told))
    await distant.end()
  },

  'what makes no job due earlier is not told': async (w) => {
    const session = await w.begin()
    const run = await w.running(session, 'billing:a', { bucket: 9, wakeAt: START + MINUTE })
    await w.attend(session)
    const near = await listen(w.store)
    await w.won(change('c1', await w.read('billing:a')))
    await w.won(change('c2', await w.read('billing:a'), { head: { wakeAt: START + 2 * MINUTE } }))
    await w.store.settle([settlement(run, w.now, { wakeAt: START + 3 * MINUTE })])
    await w.beat(session)
    await w.job('billing:last', { bucket: 200, wakeAt: START + 1 })
    assert.equal(await near.next(), 200, 'the first to be told is the first that became due earlier')
    await near.end()
  },

  'a subscription that was ended is told nothing': async (w) => {
    const [ended, kept] = [await listen(w.store), await listen(w.store)]
    await ended.end()
    await w.job('billing:a', { bucket: 9, wakeAt: START })
    assert.equal(await kept.next(), 9)
    assert.deepEqual(ended.heard, [])
    await kept.end()
  },
}

interface Ear {
  readonly heard: readonly number[]
  /** The next bucket told. */
  next(): Promise<number>
  end(): Promise<void>
}

async function listen(store: World['store']): Promise<Ear> {
  assert.ok(store.subscribe, 'the store has `subscribe`')
  const heard: number[] = []
  let taken = 0
  let hear = () => {}
  const end = await store.subscribe((bucket) => {
    heard.push(bucket)
    hear()
  })
  const next = async () => {
    // A store's timers keep no process alive; this one does, as long as the test waits.
    const awake = setInterval(() => {}, MINUTE)
    while (heard.length <= taken) {
      await new Promise<void>((resolve) => {
        hear = resolve
      })
    }
    clearInterval(awake)
    return heard[taken++] ?? Number.NaN
  }
  return { heard, next, end }
}
