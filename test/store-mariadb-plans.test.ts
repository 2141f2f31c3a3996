import type { Pool } from 'mysql2/promise'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { MysqlPlace, poolOf } from './mysql/place.js'
import { badSteps, scans } from './mysql/plans.js'
import { sharedServer } from './servers/index.js'

let place: MysqlPlace
let pool: Pool

beforeAll(async () => {
  const { url } = await sharedServer('mariadb')
  place = new MysqlPlace(url)
  pool = poolOf(url, 1)
  const store = place.store('unused')
  await store.open()
  await store.close()
})
afterAll(async () => {
  await pool.end()
  await place.remove()
})

/** Numbers from 1 to 100,000. */
const NUMBERS = `
  WITH RECURSIVE d (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM d WHERE n < 9)
  SELECT 1 + a.n + 10 * b.n + 100 * c.n + 1000 * e.n + 10000 * f.n AS n FROM d a, d b, d c, d e, d f`

/** 100,000 jobs that are idle, and as many runs that have ended, half of them of one job. */
const FILL = `
  INSERT INTO PREFIX_job (fleet, job, service, bucket, version, definition, wake_at, waiting, retired, settled, failures,
    token_floor, header)
  SELECT 'billing-test', CONCAT('billing:', n), 'billing', n % 256, 'v', 'hash-1', 9e15 + n, 0, 0, 0, 0, 0, '{}'
  FROM (${NUMBERS}) AS numbers;
  INSERT INTO PREFIX_run (fleet, job, run_key, cause, state, lane, place, position, token, attempt, created_at, ended_at, body)
  SELECT 'billing-test', IF(n % 2 = 0, 'billing:planned', CONCAT('billing:', n)), CONCAT('key ', n), 'schedule', 'succeeded',
    'schedule', 0, n, n, CONCAT('attempt ', n), n, n, '{}'
  FROM (${NUMBERS}) AS numbers`

let isFull = false
async function fill(): Promise<void> {
  if (!isFull) await place.sql(FILL)
  isFull = true
}

describe('the plans of the loop’s statements', () => {
  it('read few rows of 100,000 idle jobs and 100,000 ended runs, counted or not', async () => {
    expect(await scans(place)).toEqual([])
    await fill()
    expect(await scans(place)).toEqual([])
    await place.sql('ANALYZE TABLE PREFIX_job, PREFIX_run')
    expect(await scans(place)).toEqual([])
  })
})

describe('the look at the plans', () => {
  it.each([
    'SELECT * FROM PREFIX_job WHERE wake_at < 5',
    `SELECT * FROM PREFIX_job WHERE fleet = 'billing-test' ORDER BY header LIMIT 5`,
    `SELECT * FROM PREFIX_run WHERE fleet = 'billing-test' AND state = 'queued'`,
    `SELECT body FROM PREFIX_run WHERE fleet = 'billing-test' AND job = 'billing:planned' AND token = 0`,
    `UPDATE PREFIX_run SET state = 'x' WHERE holder = 'x'`,
  ])('finds what is wrong with: %s', async (sql) => {
    await fill()
    expect(await badSteps(pool, sql.replaceAll('PREFIX_', place.prefix))).not.toEqual([])
  })
})
