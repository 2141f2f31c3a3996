import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { PostgresPlace } from './postgres/place.js'
import { badSteps, explaining, scans, scansOn } from './postgres/plans.js'
import { sharedServer } from './servers/index.js'

let url = ''
let place: PostgresPlace

beforeAll(async () => {
  url = (await sharedServer('postgres')).url
  place = new PostgresPlace(url)
  const store = place.store('unused')
  await store.open()
  await store.close()
})
afterAll(() => place.remove())

/** Jobs that are idle, and runs that have ended; a million, for instance, where somebody has the time. */
const JOBS = 100_000
const RUNS = Number(process.env.FLEETCRON_TEST_ROWS || 100_000)

/** Half of the runs are of one job; nobody has counted any of it yet. */
const FILL = `
  INSERT INTO SCHEMA.job (fleet, job, service, name, bucket, version, definition, wake_at, waiting, settled, failures, token_floor,
    is_retired, header)
  SELECT 'billing-test', 'billing:' || n, 'billing', 'x', n % 256, 'v', 'hash-1', 9e15 + n, 0, 0, 0, 0, false, '{}'
  FROM generate_series(1, ${JOBS}) n;
  INSERT INTO SCHEMA.run (fleet, job, key, cause, state, lane, place, position, ready_at, token, session, attempt_id, created_at, ended_at, body)
  SELECT 'billing-test', CASE WHEN n % 2 = 0 THEN 'billing:planned' ELSE 'billing:' || n END, 'key ' || n, 'schedule', 'succeeded', 'schedule', false,
    n, 0, n, 'old', 'attempt ' || n, n, n, '{}' FROM generate_series(1, ${RUNS}) n`
const EMPTY = 'DELETE FROM SCHEMA.run; DELETE FROM SCHEMA.job'

describe(`the plans of the loop’s statements, with ${JOBS} idle jobs and ${RUNS} ended runs`, () => {
  it('read few rows, made when there were none and before anybody counted', async () => {
    await place.sql(`
      ALTER TABLE SCHEMA.job SET (autovacuum_enabled = false); ALTER TABLE SCHEMA.run SET (autovacuum_enabled = false)`)
    const old = await explaining(url)
    expect(await scansOn(old, place)).toEqual([])
    await place.sql(FILL)
    expect(await scansOn(old, place)).toEqual([])
    expect(await scans(place, url)).toEqual([])
    await old.end()
  })

  it('read few after they were counted', async () => {
    await place.sql('ANALYZE SCHEMA.job, SCHEMA.run')
    expect(await scans(place, url)).toEqual([])
  })

  it.each(['nothing', 'a few'])('read few when they were made and counted while there was %s', async (what) => {
    await place.sql(EMPTY)
    await place.sql('VACUUM SCHEMA.job, SCHEMA.run')
    const old = await explaining(url)
    if (what === 'a few') await scansOn(old, place)
    await place.sql('ANALYZE SCHEMA.job, SCHEMA.run')
    expect(await scansOn(old, place)).toEqual([])
    await place.sql(FILL)
    expect(await scansOn(old, place)).toEqual([])
    expect(await scans(place, url)).toEqual([])
    await old.end()
  })
})

describe('the look at the plans', () => {
  it.each([
    'SELECT * FROM SCHEMA.job WHERE wake_at < 5',
    `SELECT * FROM SCHEMA.job WHERE fleet = 'billing-test' ORDER BY job`,
    `SELECT * FROM SCHEMA.run WHERE fleet = 'billing-test' AND state = 'queued'`,
    `SELECT * FROM SCHEMA.run WHERE fleet = 'billing-test' AND job = 'billing:planned' AND session = 'x'`,
    `UPDATE SCHEMA.run SET state = 'x' WHERE session = 'x'`,
  ])('finds what is wrong with: %s', async (sql) => {
    const { pool, told, end } = await explaining(url)
    const client = await pool.connect()
    await client.query(sql.replaceAll('SCHEMA.', `"${place.schema}".`))
    await end()
    expect(badSteps(told)).not.toEqual([])
  })
})
