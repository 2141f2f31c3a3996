import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Result } from '../examples/billing/demo/reckoning.js'
import { DEMO_MS, isAlive, KEYS, lastLine, type Played, play } from './demo/play.js'

const folder = mkdtempSync(join(tmpdir(), 'fleetcron-demo-test-'))

afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('npm run demo', () => {
  const keep = join(folder, 'fleet')
  let played: Played
  let result: Result

  beforeAll(async () => {
    played = await play('--json', '--seed', '7', '--keep', keep)
    result = lastLine(played)
  }, DEMO_MS)

  it('ends with exit code 0 and a line of JSON', () => {
    expect(played, played.stdout + played.stderr).toMatchObject({ code: 0, stderr: '' })
    expect(Object.keys(result)).toEqual(KEYS)
  })

  it('struck a node in mid-period and one in its sleep, and lost nothing by it', () => {
    expect(result).toMatchObject({ customers: 240, duplicates: 0, missing: 0, paused: 1 })
    expect(result.killed).toBeGreaterThanOrEqual(1)
    expect(result.invoicesBeforeKill).toBeGreaterThan(0)
    expect(result.invoicesBeforeKill).toBeLessThan(240)
    expect(result.lateWritesRefused).toBeGreaterThanOrEqual(1)
    expect(result.takeoverMs).toBeGreaterThan(0)
    expect(result.takeoverMs).toBeLessThanOrEqual(3_000)
    expect(result.invoices).toBe(result.periods * 240)
    expect(new Set(result.pids).size).toBe(result.pids.length)
    expect(result.pids.length).toBeGreaterThanOrEqual(8)
  })

  it('tells the same by plain SQL', () => {
    const billing = open(keep, 'billing.db')
    const invoices = count(billing, 'SELECT count(*) FROM invoice')
    expect(invoices).toBe(result.invoices)
    expect(count(billing, 'SELECT count(*) FROM (SELECT DISTINCT customer_id, period FROM invoice)')).toBe(invoices)
    expect(count(billing, 'SELECT count(DISTINCT period) FROM invoice')).toBe(result.periods)
    expect(count(billing, 'SELECT count(*) FROM invoice_line')).toBe(2 * invoices)
    expect(count(billing, 'SELECT sum(total) FROM invoice')).toBe(
      count(billing, 'SELECT sum(amount) FROM invoice_line'),
    )
    billing.close()
  })

  it('has one run for every two seconds between the first and the last, worked on by those who lived', () => {
    const ledger = open(keep, 'ledger.db')
    const runs = ledger
      .prepare(`SELECT key, body FROM run WHERE state = 'succeeded' ORDER BY unixepoch(key)`)
      .all() as { key: string; body: string }[]
    const instants = runs.map(({ key }) => Date.parse(key))
    expect(instants).toEqual(instants.map((_, index) => (instants[0] ?? 0) + 2_000 * index))
    expect(runs.length).toBe(result.periods)
    expect(count(ledger, `SELECT count(*) FROM run WHERE state NOT IN ('succeeded', 'missed')`)).toBe(0)
    const attempts = runs.map(({ body }) => JSON.parse(body).attempts as { outcome: string; token: number }[])
    expect(attempts.every((list) => list.at(-1)?.outcome === 'succeeded')).toBe(true)
    expect(attempts.filter((list) => list.some(({ outcome }) => outcome === 'lost')).length).toBeGreaterThanOrEqual(2)
    ledger.close()
  })

  it('leaves no process', () => {
    expect(result.pids.filter(isAlive)).toEqual([])
  })
})

describe('npm run demo -- --plain', () => {
  it(
    'shows that a lock that expires bills customers twice',
    async () => {
      const keep = join(folder, 'plain')
      const played = await play('--plain', '--json', '--seed', '7', '--keep', keep)
      expect(played, played.stdout + played.stderr).toMatchObject({ code: 0, stderr: '' })
      const result = lastLine(played)
      expect(Object.keys(result)).toEqual(KEYS)
      expect(result.duplicates).toBeGreaterThan(0)
      expect(result).toMatchObject({ missing: 0, lateWritesRefused: 0 })
      const billing = open(keep, 'billing.db')
      const distinct = count(billing, 'SELECT count(*) FROM (SELECT DISTINCT customer_id, period FROM invoice)')
      expect(count(billing, 'SELECT count(*) FROM invoice') - distinct).toBe(result.duplicates)
      billing.close()
      expect(result.pids.filter(isAlive)).toEqual([])
    },
    DEMO_MS,
  )
})

describe('what it refuses', () => {
  it('comes with customers of every kind', () => {
    const text = readFileSync(join(import.meta.dirname, '../examples/billing/customers.csv'), 'utf8')
    expect(text.split('\r\n').length).toBeGreaterThan(200)
    expect(text).toContain('"Comma, Comma & Sons"')
  })

  it.each([
    ['an unknown option', ['--bogus'], '--bogus'],
    ['an option without its value', ['--seed'], '--seed'],
    ['a store that is none', ['--store', 'oracle'], '--store is neither sqlite'],
    ['a server that is not ours to kill', ['--restart-server'], '--restart-server needs a server'],
    ['a ledger where there is none', ['--plain', '--store', 'postgres'], '--plain keeps no ledger'],
    ['a seed that is no number', ['--seed', 'seven'], "--seed 'seven'"],
    ['an argument', ['now'], "'now'"],
    ['a file that is not there', ['--customers', join(folder, 'nobody.csv')], 'nobody.csv cannot be read (ENOENT)'],
    ['a folder that is in use', ['--keep', 'USED'], 'has a billing.db already'],
  ])('%s: exit code 2 and one line', async (_, args, expected) => {
    const used = mkdtempSync(join(folder, 'used-'))
    writeFileSync(join(used, 'billing.db'), '')
    expectRefusal(await play(...args.map((arg) => (arg === 'USED' ? used : arg))), expected)
  })

  it.each([
    ['a price that is none', '2,Bo,Team,12.3.4,EUR,Europe/Berlin', 'line 3, column 4 (price)'],
    ['more digits than the currency has', '2,Bo,Team,1.5,JPY,Asia/Tokyo', 'line 3, column 4 (price)'],
    ['an unknown currency', '2,Bo,Team,1,XYZ,Asia/Tokyo', 'line 3, column 5 (currency)'],
    ['an unknown zone', '2,Bo,Team,1,EUR,Mars/Olympus', 'line 3, column 6 (zone)'],
    ['an id twice', '1,Bo,Team,1,EUR,UTC', 'line 3, column 1 (id)'],
    ['a field too few', '2,Bo,Team,1,EUR', 'line 3, column 5'],
    ['an empty field', '2,,Team,1,EUR,UTC', 'line 3, column 2 (name)'],
    ['a quote without its end', '2,"Bo,Team,1,EUR,UTC', 'line 3, column 2'],
    ['a line feed in quotes before it', '2,"B\no",Team,1,EUR,UTC\n3,Di,Team,-1,EUR,UTC', 'line 5, column 4 (price)'],
  ])('customers with %s: line and column', async (_, row, expected) => {
    const file = join(mkdtempSync(join(folder, 'csv-')), 'bad.csv')
    writeFileSync(file, `id,name,plan,price,currency,zone\n1,Al,Team,1.00,EUR,Europe/Paris\n${row}\n`)
    expectRefusal(await play('--customers', file), `bad.csv, ${expected}`)
  })
})

function expectRefusal({ code, stdout, stderr }: Played, expected: string): void {
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toContain(expected)
  expect(stderr.trimEnd().split('\n')).toHaveLength(1)
}

function open(keep: string, name: string): Database.Database {
  return new Database(join(keep, name), { readonly: true })
}

function count(database: Database.Database, sql: string): number {
  return database.prepare(sql).pluck().get() as number
}
