import { afterEach, describe, expect, it } from 'vitest'
import { createFleet, type Fleet } from '../src/fleet/fleet.js'
import { NONCE } from '../src/fleet/request-id.js'
import { createMemoryStore } from '../src/store/memory/index.js'

const open: Fleet[] = []
const ends: (() => void)[] = []
afterEach(async () => {
  for (const end of ends.splice(0)) end()
  for (const fleet of open.splice(0)) await fleet.stop()
})

/** Nodes of one fleet with one job, which ends when it is told to. */
async function nodes(count: number) {
  let letEnd = () => {}
  const ended = new Promise<void>((resolve) => {
    letEnd = resolve
  })
  ends.push(letEnd)
  const store = createMemoryStore()
  const all = Array.from({ length: count }, () => {
    const fleet = createFleet({ fleet: 'nonces', service: 'app', store, logger: false })
    fleet.job('it', {}, () => ended)
    open.push(fleet)
    return fleet
  })
  for (const fleet of all) await fleet.start()
  return { all, letEnd }
}

const CONFLICT = { code: 'REQUEST_CONFLICT' }

describe('a request with a nonce', () => {
  it('is the same request wherever it comes again, with and without a key', async () => {
    const { all } = await nodes(2)
    const [a, b] = all as [Fleet, Fleet]
    const first = await a.trigger('it', { [NONCE]: 'n1', data: 1 })
    expect((await b.trigger('it', { [NONCE]: 'n1', data: 1 })).key).toBe(first.key)
    const second = await a.trigger('it', { key: 'k', [NONCE]: 'n2' })
    expect((await b.trigger('it', { key: 'k', [NONCE]: 'n2' })).key).toBe(second.key)
    expect((await b.trigger('it', { key: 'k', [NONCE]: 'n3' })).key).toBe(second.key)
    expect((await b.trigger('it', { key: 'k' })).key).toBe(second.key)
    expect(await a.runs({ job: 'it' })).toHaveLength(2)
  })

  it('is refused where the nonce was used with another key or other data, in any order', async () => {
    const { all } = await nodes(2)
    const [a, b] = all as [Fleet, Fleet]
    await a.trigger('it', { [NONCE]: 'n1', data: 1 })
    await a.trigger('it', { key: 'k', [NONCE]: 'n2' })
    await a.trigger('it', { key: 'other', [NONCE]: 'n3' })
    for (const request of [
      { [NONCE]: 'n1', data: 2 },
      { key: 'k2', [NONCE]: 'n1', data: 1 },
      { key: 'k2', [NONCE]: 'n2' },
      { [NONCE]: 'n2' },
      { key: 'k', [NONCE]: 'n2', data: 3 },
      { key: 'k', [NONCE]: 'n3' },
    ]) {
      await expect(b.trigger('it', request)).rejects.toMatchObject(CONFLICT)
    }
    expect(await a.runs({ job: 'it' })).toHaveLength(3)
  })

  it('makes one run where two nodes are asked at the same time with different keys', async () => {
    const { all } = await nodes(2)
    const asked = all.map((fleet, index) => fleet.trigger('it', { key: `k${index}`, [NONCE]: 'n' }))
    const outcomes = await Promise.allSettled(asked)
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    expect(outcomes.find(({ status }) => status === 'rejected')).toMatchObject({ reason: CONFLICT })
    expect(await all[0]?.runs({ job: 'it' })).toHaveLength(1)
  })

  it('lies in a space of its own: no key of a trigger is a nonce', async () => {
    const { all } = await nodes(1)
    const [fleet] = all as [Fleet]
    const signed = await fleet.trigger('it', { [NONCE]: 'n' })
    const others = await Promise.all(['n', 'nonce:n', signed.key].map((key) => fleet.trigger('it', { key })))
    expect(new Set([signed, ...others].map(({ key }) => key)).size).toBe(4)
  })
})

describe('finished', () => {
  it('gives the run as it stands when the time is over', async () => {
    const { all, letEnd } = await nodes(1)
    const [fleet] = all as [Fleet]
    const run = await fleet.trigger('it')
    expect((await fleet.finished(run, { within: 0 })).endedAt).toBeNull()
    expect((await fleet.finished(run, { within: 30 })).endedAt).toBeNull()
    letEnd()
    expect(await fleet.finished(run, { within: '30s' })).toMatchObject({ state: 'succeeded' })
    await expect(fleet.finished(run, { within: 'soon' })).rejects.toMatchObject({ code: 'OPTION_INVALID' })
    await expect(fleet.finished(run, { until: 1 } as object)).rejects.toMatchObject({ code: 'OPTION_INVALID' })
  })
})
