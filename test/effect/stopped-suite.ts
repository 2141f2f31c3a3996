import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { buildWorker, Worker } from './processes.js'

/** What the suite needs of an empty business database. */
interface Business {
  readonly url: string
  rows<Row>(sql: string): Promise<Row[]>
  close(): Promise<void>
}

/** Real processes that are stopped (SIGSTOP), or killed, in the middle of effects on a server. Their lease is two seconds. */
export function stoppedSuite(name: string, make: () => Promise<Business>): void {
  let folder: string
  let script: string
  let business: Business
  let workers: Worker[]

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'fleetcron-stopped-'))
    script = await buildWorker(folder, 'server-worker')
    return () => rmSync(folder, { recursive: true })
  })
  beforeEach(async () => {
    business = await make()
    await business.rows('CREATE TABLE note (text VARCHAR(200))')
    workers = []
  })
  afterEach(async () => {
    await Promise.all(workers.map((worker) => worker.end()))
    await business.close()
  })

  /** A process whose attempt has this token. */
  async function start(label: string, token: number): Promise<Worker> {
    const worker = new Worker(script, business.url, label)
    workers.push(worker)
    expect(await worker.ask({ do: 'ensure' })).toHaveProperty('value')
    expect(await worker.ask({ do: 'begin attempt', token })).toEqual({ value: null })
    return worker
  }

  const notes = async () =>
    (await business.rows<{ text: string }>('SELECT text FROM note ORDER BY text')).map(({ text }) => text)
  const raised = { value: { raised: true } }

  describe(`effects of real processes on ${name}`, () => {
    test('stopped inside the transaction are cut off within the lease, and their late commit fails', async () => {
      const a = await start('a', 1)
      const b = await start('b', 2)
      expect(await a.ask({ do: 'raise', token: 1 })).toEqual(raised)
      expect(await a.ask({ do: 'once', key: 'k', hold: true })).toEqual({ value: 'inside' })
      await a.stop()
      a.goOn()
      const stoppedAt = performance.now()
      expect(await b.ask({ do: 'raise', token: 2 })).toEqual(raised)
      // The lease, and what a loaded machine needs besides; without a cut-off it would be never.
      expect(performance.now() - stoppedAt).toBeLessThan(8_000)
      expect(await b.ask({ do: 'once', key: 'k' })).toEqual({ value: 'b' })
      a.resume()
      expect(await a.answer()).toEqual({ code: 'EFFECT_UNAVAILABLE' })
      expect(await a.ask({ do: 'once', key: 'late' })).toEqual({ code: 'STALE_TOKEN' })
      expect(await a.ask({ do: 'raise', token: 1 })).toEqual({ value: { raised: false, token: 2 } })
      expect(await notes()).toEqual(['k by b'])
    })

    test('stopped outside a transaction are overtaken at once, and their late writes refused', async () => {
      const a = await start('a', 1)
      const b = await start('b', 2)
      expect(await a.ask({ do: 'raise', token: 1 })).toEqual(raised)
      expect(await a.ask({ do: 'once', key: 'first' })).toEqual({ value: 'a' })
      await a.stop()
      const late = a.ask({ do: 'once', key: 'second' })
      expect(await b.ask({ do: 'raise', token: 2 })).toEqual(raised)
      expect(await b.ask({ do: 'once', key: 'first' })).toEqual({ value: 'a' })
      a.resume()
      expect(await late).toEqual({ code: 'STALE_TOKEN' })
      expect(await a.ask({ do: 'own statement', text: 'late' })).toEqual({ code: 'STALE_TOKEN' })
      expect(await b.ask({ do: 'once', key: 'second' })).toEqual({ value: 'b' })
      expect(await b.ask({ do: 'own statement', text: 'own' })).toEqual({ value: 'own' })
      expect(await notes()).toEqual(['first by a', 'own', 'second by b'])
    })

    test('killed inside the transaction leave nothing, and the next makes the effect', async () => {
      const a = await start('a', 1)
      expect(await a.ask({ do: 'once', key: 'k', hold: true })).toEqual({ value: 'inside' })
      await a.kill()
      const b = await start('b', 1)
      expect(await b.ask({ do: 'once', key: 'k' })).toEqual({ value: 'b' })
      expect(await notes()).toEqual(['k by b'])
    })

    test('racing over the same keys make each effect once, and agree on who made it', async () => {
      const racers = await Promise.all(['a', 'b', 'c'].map((label) => start(label, 1)))
      const all = Array.from({ length: 60 }, (_, i) => `key ${String(i).padStart(3, '0')}`)
      const answers = await Promise.all(racers.map((racer) => racer.ask({ do: 'once each', keys: all })))
      const [first] = answers
      expect(answers).toEqual([first, first, first])
      const makers = (first as { value: string[] }).value
      expect(await notes()).toEqual(all.map((key, i) => `${key} by ${makers[i]}`))
    })
  })
}
