import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import type { BoundEffects, EffectOrigin, Effects } from '../../src/effect/port.js'

/** A folder with one business database and its table `note`; every connection is closed at the end. */
export class BusinessFolder {
  readonly path = mkdtempSync(join(tmpdir(), 'fleetcron-effect-'))
  readonly file = join(this.path, 'business.db')
  readonly #opened: Database.Database[] = []

  connect(options: Database.Options = {}, journal = 'WAL'): Database.Database {
    const database = new Database(this.file, options)
    this.#opened.push(database)
    database.pragma(`journal_mode = ${journal}`)
    database.exec('CREATE TABLE IF NOT EXISTS note (text TEXT)')
    return database
  }

  remove(): void {
    for (const database of this.#opened) database.close()
    rmSync(this.path, { recursive: true })
  }
}

export function noteIn(database: Database.Database, text: string): string {
  database.prepare('INSERT INTO note (text) VALUES (?)').run(text)
  return text
}

export function notesIn(database: Database.Database): string[] {
  return database.prepare('SELECT text FROM note ORDER BY text').pluck().all() as string[]
}

/** Effects of an attempt of run `k` of job `j`, with token 1 unless told otherwise. */
export function attemptOf<Tx>(effects: Effects<Tx>, over: Partial<EffectOrigin> = {}): BoundEffects<Tx> {
  const signal = new AbortController().signal
  const origin = {
    fleet: 'f',
    job: 'j',
    runKey: 'k',
    resource: 'f/j',
    token: 1,
    attempt: 1,
    fence: true,
    leaseMs: 10_000,
  }
  return effects.bind({ ...origin, signal, ...over })
}
