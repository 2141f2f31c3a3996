import { createHash, randomUUID } from 'node:crypto'
import Database from 'better-sqlite3'

/** What a customer is charged, as the application sends it. */
export interface ChargeRequest {
  /** The application's own name for it, such as `charge:42:2026-11`. */
  readonly reference: string
  readonly amount: number
  readonly currency: string
}

export interface Charge extends ChargeRequest {
  readonly id: string
}

export type Charged =
  | { readonly charge: Charge; readonly isReplay: boolean }
  /** The key was used before with another body. */
  | { readonly conflict: true }

/** The provider's own books, in a SQLite file: money that has moved, and the idempotency keys it remembers. */
export class Book {
  readonly #database: Database.Database
  readonly #keepMs: number

  /** Keys are forgotten after `keepMs`, as real providers do after a day or a month. */
  constructor(file: string, keepMs: number) {
    this.#keepMs = keepMs
    this.#database = new Database(file)
    this.#database.pragma('journal_mode = WAL')
    this.#database.pragma('synchronous = FULL')
    this.#database.exec(`
CREATE TABLE IF NOT EXISTS charge (
  id TEXT PRIMARY KEY, reference TEXT NOT NULL, amount INTEGER NOT NULL, currency TEXT NOT NULL,
  idempotency_key TEXT, created_at INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS charge_key ON charge (idempotency_key);
CREATE TABLE IF NOT EXISTS idempotency (
  key TEXT PRIMARY KEY, body TEXT NOT NULL, charge TEXT NOT NULL, expires_at INTEGER NOT NULL
)`)
  }

  /** Moves the money, unless this key has moved it before. Without a key it moves it every time. */
  charge(key: string | null, request: ChargeRequest): Charged {
    const body = createHash('sha256').update(JSON.stringify(request)).digest('hex')
    const now = Date.now()
    return this.#database.transaction((): Charged => {
      const known = key === null ? undefined : this.#remembered(key, now)
      if (known) {
        if (known.body !== body) return { conflict: true }
        return { charge: this.#read(known.charge), isReplay: true }
      }
      const charge = { id: `ch_${randomUUID()}`, ...request }
      this.#database
        .prepare('INSERT INTO charge VALUES (?, ?, ?, ?, ?, ?)')
        .run(charge.id, request.reference, request.amount, request.currency, key, now)
      if (key !== null) {
        this.#database
          .prepare('INSERT OR REPLACE INTO idempotency VALUES (?, ?, ?, ?)')
          .run(key, body, charge.id, now + this.#keepMs)
      }
      return { charge, isReplay: false }
    })()
  }

  /** By the key it came with, or by the application's own reference. */
  find(by: 'idempotency_key' | 'reference', value: string): Charge | null {
    const row = this.#database.prepare(`SELECT id FROM charge WHERE ${by} = ? ORDER BY created_at`).get(value)
    return row === undefined ? null : this.#read((row as { id: string }).id)
  }

  close(): void {
    this.#database.close()
  }

  #remembered(key: string, now: number): { readonly body: string; readonly charge: string } | undefined {
    const select = 'SELECT body, charge FROM idempotency WHERE key = ? AND expires_at > ?'
    return this.#database.prepare(select).get(key, now) as { body: string; charge: string } | undefined
  }

  #read(id: string): Charge {
    const select = 'SELECT id, reference, amount, currency FROM charge WHERE id = ?'
    return this.#database.prepare(select).get(id) as Charge
  }
}
