import { createPool, type RowDataPacket } from 'mysql2/promise'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { mysql2 } from '../src/effect/mysql2/index.js'
import { attemptOf } from './effect/business-folder.js'
import { MariadbBusiness } from './effect/mariadb-business.js'
import { sharedServer } from './servers/index.js'

/** Half an hour into the second of the two hours from two to three, when summer time ends in Berlin. */
const SECOND_PASS = Date.parse('2026-10-25T01:30:00.250Z')

/** Zones by name are loaded into a server by hand: this is what it needs of one, for a year. */
const BERLIN = [
  `DELETE FROM mysql.time_zone_name WHERE Name = 'Tests/Berlin'`,
  `INSERT INTO mysql.time_zone (Time_zone_id, Use_leap_seconds) VALUES (9001, 'N') ON DUPLICATE KEY UPDATE Use_leap_seconds = 'N'`,
  `REPLACE INTO mysql.time_zone_transition_type VALUES (9001, 0, 7200, 1, 'CEST'), (9001, 1, 3600, 0, 'CET')`,
  `REPLACE INTO mysql.time_zone_transition VALUES (9001, ${Date.parse('2026-03-29T01:00Z') / 1000}, 0), (9001, ${Date.parse('2026-10-25T01:00Z') / 1000}, 1)`,
  `INSERT INTO mysql.time_zone_name VALUES ('Tests/Berlin', 9001)`,
]

describe('effects on MariaDB, as others have seen them fail', () => {
  let url: string
  let businesses: MariadbBusiness[] = []
  beforeAll(async () => {
    url = (await sharedServer('mariadb')).url
  })
  afterAll(async () => {
    for (const business of businesses) await business.close()
    businesses = []
  })

  async function business(session: readonly string[] = []): Promise<MariadbBusiness> {
    const made = await MariadbBusiness.make(url, session)
    businesses.push(made)
    await mysql2(made.pool()).ensure()
    return made
  }

  test('F47 F48 a session in a zone with summer time keeps the instant, also in the hour that comes twice', async () => {
    const plain = await business()
    for (const statement of BERLIN) await plain.rows(statement)
    const berlin = await business([`SET time_zone = 'Tests/Berlin', timestamp = ${SECOND_PASS / 1000}`])
    const pool = berlin.pool()
    const [rows] = await pool.query<RowDataPacket[]>('SELECT UNIX_TIMESTAMP(NOW()) AS said')
    // The trap: with an argument it takes the first of the two hours.
    expect(Number(rows[0]?.said) * 1000).toBe(Math.floor(SECOND_PASS / 1000) * 1000 - 3_600_000)
    await attemptOf(mysql2(pool)).once('k', () => 1)
    const [row] = await berlin.rows('SELECT created_at FROM fleetcron_effect')
    expect(Number(row?.created_at)).toBe(SECOND_PASS)
  })

  test.each([
    ['whose backslash escapes nothing', ["SET SESSION sql_mode = 'STRICT_TRANS_TABLES,NO_BACKSLASH_ESCAPES'"]],
    ['of a narrow character set', ['SET NAMES latin1']],
    ['in the mode of Oracle', ["SET SESSION sql_mode = 'ORACLE'"]],
  ])('a session %s keeps keys apart, and results, inputs and problems as they are', async (_, session) => {
    const own = await business(session)
    const effects = mysql2(own.pool())
    const run = attemptOf(effects)
    const keys = [
      '日',
      '本',
      'å',
      '?',
      '😀',
      '🎉',
      "it's",
      'a\\',
      'a\\\\',
      `q" OR 1=1 -- `,
      "x\\' OR 1=1 -- ",
      'nl\n',
      '\u6527',
      'case',
      'Case',
    ]
    const resultOf = (key: string) => ({ key, text: `b"c\\d\n o'x 日😀 ${key}` })
    for (const key of keys) expect(await run.once(key, () => resultOf(key), { input: key })).toEqual(resultOf(key))
    for (const key of keys) expect(await run.once(key, () => 'again', { input: key })).toEqual(resultOf(key))
    const [input] = [{ amount: 5, to: `d\\'Ålesund "日"` }]
    const send = (call: { input: unknown }) => ({ sent: call.input })
    expect(await effects.call("charge '日'", { input, send })).toEqual({ sent: input })
    expect(await effects.call("charge '日'", { input, send })).toEqual({ sent: input })
    const fail = () => {
      throw new Error(`lost \\ '日'`)
    }
    await expect(effects.call("lost '日'", { input, send: fail, retry: 0 })).rejects.toMatchObject({
      code: 'EFFECT_UNCERTAIN',
    })
    expect(await effects.uncertain()).toMatchObject([{ key: "lost '日'", input, problem: `lost \\ '日'` }])
    expect(await effects.raise("f/o'r\\ 日", 2)).toEqual({ raised: true })
    expect(await effects.raise("f/o'r\\ 日", 1)).toEqual({ raised: false, token: 2 })
    const stored = await own.rows('SELECT HEX(`key`) AS digits FROM fleetcron_effect')
    const texts = stored.map(({ digits }) => Buffer.from(String(digits), 'hex').toString())
    expect(texts.sort()).toEqual([...keys, "charge '日'", "lost '日'"].sort())
  })

  test('and a pool whose driver writes in a narrow character set does so too', async () => {
    const own = await business()
    const pool = createPool({ uri: own.url, connectionLimit: 2, charset: 'latin1' })
    try {
      const run = attemptOf(mysql2(pool))
      const keys = ['customer-日', 'customer-å', 'customer-?']
      for (const [i, key] of keys.entries()) expect(await run.once(key, () => i)).toBe(i)
    } finally {
      await pool.end()
    }
  })

  test('F46 instants are whole milliseconds in integers: no column rounds or cuts one', async () => {
    const columns = await (await business()).rows<{ type: string }>(
      `SELECT DISTINCT data_type AS type FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name LIKE 'fleetcron%'`,
    )
    expect(columns.map(({ type }) => type).sort()).toEqual(['bigint', 'int', 'mediumtext', 'text', 'varchar'])
  })
})
