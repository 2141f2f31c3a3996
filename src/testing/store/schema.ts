import assert from 'node:assert/strict'
import { queued } from './builders.js'
import type { Cases } from './world.js'

/** Opening, by many at once and again. */
export const SCHEMA: Cases = {
  'ten clients open one place at once and find one ledger': async (w) => {
    const stores = await Promise.all(Array.from({ length: 10 }, () => w.connect()))
    const infos = await Promise.all(stores.map((store) => store.open()))
    assert.equal(new Set(infos.map((info) => info.incarnation)).size, 1)
    await w.job('billing:a', {}, [queued('billing:a', 'k')])
    for (const store of stores) assert.deepEqual(await w.read('billing:a', store), await w.read('billing:a'))
  },

  'opening says what the store is, and how far it can be trusted': async (w) => {
    const { kind, grade, remark } = await w.store.open()
    assert.match(kind, /^[a-z]+$/)
    assert.ok(grade === 'correct' || grade === 'efficient')
    assert.ok(grade === 'correct' || remark !== null, 'a store that can lose writes says why')
  },

  'a store that one node closes still serves the others that opened it': async (w) => {
    await w.store.open()
    await w.store.close()
    assert.equal((await w.attend(await w.begin())).alive, true)
  },
}
