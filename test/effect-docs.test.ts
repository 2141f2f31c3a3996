import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { sqlite } from '../src/effect/sqlite/index.js'
import { LIMITS } from '../src/effect/values.js'

const page = readFileSync(join(import.meta.dirname, '../docs/effects.md'), 'utf8')
const statements = [...page.matchAll(/```sql\n(.*?)```/gs)].map(([, sql = '']) => sql)

test('the plain SQL of the fence in the docs guards a statement', async () => {
  const [select = '', update = ''] = statements
  const resource = /'(.+?)'/.exec(select)?.[1] ?? ''
  const database = new Database(':memory:')
  const effects = sqlite(database)
  await effects.ensure()
  database.exec('CREATE TABLE orders (id INTEGER, refunded INTEGER); INSERT INTO orders VALUES (1, 0)')
  const refund = (token: number) => database.prepare(update).run({ id: 1, token }).changes
  expect(database.prepare(select).all()).toEqual([])
  expect(refund(7)).toBe(1)
  await effects.raise(resource, 7)
  expect(database.prepare(select).all()).toEqual([{ token: 7 }])
  expect(refund(7)).toBe(1)
  expect(refund(6)).toBe(0)
  await effects.raise(resource, 8)
  expect(refund(7)).toBe(0)
})

test('the columns in the docs are those of the tables', () => {
  const database = new Database(':memory:')
  const effects = sqlite(database)
  database.exec(effects.tables)
  const columns = database.prepare(
    `SELECT c.name FROM sqlite_schema t, pragma_table_info(t.name) c WHERE t.type = 'table' ORDER BY c.name`,
  )
  const [, section = ''] = page.split('## The tables')
  const cells = section.split('\n').flatMap((line) => (line.startsWith('| `') ? [line.split('|')[1] ?? ''] : []))
  const documented = cells.flatMap((cell) => [...cell.matchAll(/`(\w+)`/g)].map(([, name]) => name))
  expect(documented.filter((name) => !name?.startsWith('fleetcron_')).sort()).toEqual(columns.pluck().all())
})

test('the limits in the docs are those of the code', () => {
  expect(page).toContain(`1 to ${LIMITS.keyCharacters} characters`)
  expect(page).toContain(`${LIMITS.resultBytes.toLocaleString('en-US')} bytes`)
})
