import { existsSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import type { Row } from './business.js'
import type { Unit } from './points.js'

/** What is counted by SQL when all processes have ended. */
export interface KillResult {
  readonly kills: number
  readonly points: Readonly<Record<string, number>>
  readonly doubleEffects: number
  readonly lost: number
  readonly uncertain: number
  readonly uncertainListed: number
}

/** Effects that were made, in the business database or at the provider, and how often. */
const MADE = `made AS (
  SELECT key, count(*) AS times FROM (
    SELECT effect AS key FROM business.line UNION ALL SELECT reference FROM provider.charge
  ) GROUP BY key
)`
const OPEN = `open AS (SELECT key FROM business.fleetcron_effect WHERE state IN ('intended', 'uncertain'))`

const POINTS = `SELECT CASE kind WHEN 'once' THEN kind ELSE 'call ' || kind END || ' ' || point AS point, count(*) AS kills
FROM unit WHERE killed GROUP BY kind, point ORDER BY min(rowid)`
const COUNTS = `WITH ${MADE}, ${OPEN} SELECT
  (SELECT count(*) FROM unit WHERE killed) AS kills,
  (SELECT count(*) FROM made WHERE times > 1) AS doubleEffects,
  (SELECT count(*) FROM unit WHERE key NOT IN (SELECT key FROM made) AND key NOT IN (SELECT key FROM open)) AS lost,
  (SELECT count(*) FROM open) AS uncertain,
  (SELECT count(*) FROM open WHERE key IN (SELECT key FROM listed)) AS uncertainListed`

const TABLES = ['line', 'fleetcron_effect', 'fleetcron_fence']

/**
 * The books of a round in its folder: `business.db` (of a server the tables are copied into it when the round is over),
 * the provider's `provider.db`, and `round.db`: the units, which of them saw their process killed, and what
 * `effects.uncertain()` listed in the end.
 */
export class Books {
  readonly business: string
  readonly provider: string
  readonly #round: Database.Database

  constructor(folder: string) {
    const round = join(folder, 'round.db')
    this.business = join(folder, 'business.db')
    this.provider = join(folder, 'provider.db')
    const old = [round, this.business, this.provider].find((file) => existsSync(file))
    if (old !== undefined) throw new Error(`There is a ${old} already: name another folder.`)
    this.#round = new Database(round)
    this.#round.exec(`CREATE TABLE unit (key TEXT PRIMARY KEY, kind TEXT NOT NULL, point TEXT NOT NULL, killed INTEGER NOT NULL DEFAULT 0);
CREATE TABLE listed (key TEXT PRIMARY KEY)`)
  }

  plan(units: readonly Unit[]): void {
    const insert = this.#round.prepare('INSERT OR IGNORE INTO unit (key, kind, point) VALUES (?, ?, ?)')
    this.#round.transaction(() => {
      for (const { key, kind, point } of units) insert.run(key, kind, point)
    })()
  }

  get kills(): number {
    return this.#round.prepare('SELECT coalesce(sum(killed), 0) FROM unit').pluck().get() as number
  }

  killed({ key }: Unit): void {
    this.#round.prepare('UPDATE unit SET killed = killed + 1 WHERE key = ?').run(key)
  }

  listed(keys: readonly string[]): void {
    const insert = this.#round.prepare('INSERT INTO listed VALUES (?)')
    for (const key of keys) insert.run(key)
  }

  /** Copies a server's tables, columns as they are called there, into `business.db`. */
  async copy(rows: (sql: string) => Promise<readonly Row[]>): Promise<void> {
    const copy = new Database(this.business)
    for (const table of TABLES) {
      const found = await rows(`SELECT * FROM ${table}`)
      const columns = Object.keys(found[0] ?? { effect: '', key: '', state: '' })
      copy.exec(`CREATE TABLE ${table} (${columns.map((name) => `"${name}"`).join(', ')})`)
      const insert = copy.prepare(`INSERT INTO ${table} VALUES (${columns.map(() => '?').join(', ')})`)
      copy.transaction(() => {
        for (const row of found) insert.run(columns.map((name) => row[name]))
      })()
    }
    copy.close()
  }

  /** Counts by SQL alone, from the three files. */
  reckon(): KillResult {
    this.#round.prepare('ATTACH ? AS business').run(this.business)
    this.#round.prepare('ATTACH ? AS provider').run(this.provider)
    const { kills, ...counts } = this.#round.prepare(COUNTS).get() as Omit<KillResult, 'points'>
    const points = this.#round.prepare(POINTS).raw().all() as [string, number][]
    return { kills, points: Object.fromEntries(points), ...counts }
  }

  close(): void {
    this.#round.close()
  }
}
