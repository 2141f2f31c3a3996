import type Database from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { BusinessFolder, notesIn } from './effect/business-folder.js'
import { buildWorker, Worker } from './effect/processes.js'

let folder: BusinessFolder
let database: Database.Database
let script: string
let workers: Worker[]

beforeEach(async () => {
  folder = new BusinessFolder()
  database = folder.connect()
  script = await buildWorker(folder.path)
  workers = []
})

afterEach(async () => {
  await Promise.all(workers.map((worker) => worker.end()))
  folder.remove()
})

/** A new process whose attempt has this token. */
async function start(label: string, token = 1): Promise<Worker> {
  const worker = new Worker(script, folder.file, label)
  workers.push(worker)
  expect(await worker.ask({ do: 'ensure' })).toHaveProperty('value')
  expect(await worker.ask({ do: 'begin attempt', token })).toEqual({ value: null })
  return worker
}

const keys = () => database.prepare('SELECT key FROM fleetcron_effect ORDER BY key').pluck().all()

describe('effects of real processes', () => {
  test('racing over the same keys make each effect once, and agree on who made it', async () => {
    const racers = await Promise.all(['a', 'b', 'c'].map((label) => start(label)))
    const all = Array.from({ length: 200 }, (_, i) => `key ${String(i).padStart(3, '0')}`)
    const answers = await Promise.all(racers.map((racer) => racer.ask({ do: 'once each', keys: all })))
    const [first] = answers
    expect(answers).toEqual([first, first, first])
    const makers = (first as { value: string[] }).value
    expect(notesIn(database)).toEqual(all.map((key, i) => `${key} by ${makers[i]}`))
    expect(keys()).toEqual(all)
  })

  test('killed inside the transaction leave nothing, and the next makes the effect', async () => {
    const a = await start('a')
    expect(await a.ask({ do: 'once', key: 'k', hold: true })).toEqual({ value: 'inside' })
    await a.kill()
    expect([keys(), notesIn(database)]).toEqual([[], []])
    const b = await start('b')
    expect(await b.ask({ do: 'once', key: 'k' })).toEqual({ value: 'b' })
    expect(notesIn(database)).toEqual(['k by b'])
  })

  test('killed after the commit have made the effect, and the next gets its result', async () => {
    const a = await start('a')
    expect(await a.ask({ do: 'once', key: 'k' })).toEqual({ value: 'a' })
    await a.kill()
    const b = await start('b')
    expect(await b.ask({ do: 'once', key: 'k' })).toEqual({ value: 'a' })
    expect(notesIn(database)).toEqual(['k by a'])
  })

  test('stopped inside the transaction hold up the file; when they go on that commit counts, and no later one', async () => {
    const a = await start('a', 1)
    const b = await start('b', 2)
    expect(await a.ask({ do: 'raise', token: 1 })).toEqual({ value: { raised: true } })
    expect(await a.ask({ do: 'once', key: 'k', hold: true })).toEqual({ value: 'inside' })
    await a.stop()
    a.goOn()
    expect(await b.ask({ do: 'raise', token: 2, retryFor: '100ms' })).toEqual({ code: 'EFFECT_UNAVAILABLE' })
    const raised = b.ask({ do: 'raise', token: 2 })
    a.resume()
    expect(await a.answer()).toEqual({ value: 'a' })
    expect(await raised).toEqual({ value: { raised: true } })
    expect(await b.ask({ do: 'once', key: 'k' })).toEqual({ value: 'a' })
    expect(await a.ask({ do: 'once', key: 'late' })).toEqual({ code: 'STALE_TOKEN' })
    expect(notesIn(database)).toEqual(['k by a'])
  })

  test('stopped outside a transaction are overtaken, and their late writes refused', async () => {
    const a = await start('a', 1)
    const b = await start('b', 2)
    expect(await a.ask({ do: 'raise', token: 1 })).toEqual({ value: { raised: true } })
    expect(await a.ask({ do: 'once', key: 'first' })).toEqual({ value: 'a' })
    await a.stop()
    const late = a.ask({ do: 'once', key: 'second' })
    expect(await b.ask({ do: 'raise', token: 2 })).toEqual({ value: { raised: true } })
    expect(await b.ask({ do: 'once', key: 'first' })).toEqual({ value: 'a' })
    a.resume()
    expect(await late).toEqual({ code: 'STALE_TOKEN' })
    expect(await a.ask({ do: 'own statement', text: 'late' })).toEqual({ code: 'STALE_TOKEN' })
    expect(await a.ask({ do: 'raise', token: 1 })).toEqual({ value: { raised: false, token: 2 } })
    expect(await b.ask({ do: 'once', key: 'second' })).toEqual({ value: 'b' })
    expect(await b.ask({ do: 'own statement', text: 'own' })).toEqual({ value: 'own' })
    expect(notesIn(database)).toEqual(['first by a', 'own', 'second by b'])
  })
})
