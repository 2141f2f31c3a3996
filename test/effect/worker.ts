import { readSync, writeSync } from 'node:fs'
import Database from 'better-sqlite3'
import { fencedFetch } from '../../src/effect/fencing.js'
import type { BoundEffects } from '../../src/effect/port.js'
import { sqlite } from '../../src/effect/sqlite/index.js'
import { attemptOf, noteIn } from './business-folder.js'

/**
 * A process that makes effects on command. It is told one line of JSON at a time and answers with one, both without
 * turning its event loop, so that it can be held anywhere, also inside a transaction.
 */
export type Command =
  | { readonly do: 'ensure' }
  | { readonly do: 'raise'; readonly token: number; readonly retryFor?: string }
  | { readonly do: 'begin attempt'; readonly token: number }
  /** `hold`: says `inside` in the middle of the transaction, and waits there for a line. */
  | { readonly do: 'once'; readonly key: string; readonly hold?: boolean }
  | { readonly do: 'once each'; readonly keys: readonly string[] }
  | { readonly do: 'own statement'; readonly text: string }
  /** A request with the attempt's token. */
  | { readonly do: 'send'; readonly url: string }

/** What a process answers: a value, or the code of what was thrown. */
export type Answer = { readonly value: unknown } | { readonly code: string }

const [file = '', label = ''] = process.argv.slice(2)
const database = new Database(file)
database.pragma('journal_mode = WAL')
let attempt: BoundEffects<Database.Database> | undefined
let token = 0

function run(command: Command): unknown {
  const effects = sqlite(database, { retryFor: ('retryFor' in command && command.retryFor) || '60s' })
  switch (command.do) {
    case 'ensure':
      return effects.ensure()
    case 'raise':
      return effects.raise('f/j', command.token)
    case 'begin attempt':
      token = command.token
      attempt = attemptOf(effects, { token })
      return null
    case 'once':
      return attempt?.once(command.key, (tx) => change(tx, command.key, command.hold === true))
    case 'once each':
      return Promise.all(command.keys.map((key) => attempt?.once(key, (tx) => change(tx, key, false))))
    case 'own statement':
      return database.transaction(() => {
        attempt?.fence(database)
        return noteIn(database, command.text)
      })()
    case 'send':
      return send(command.url)
  }
}

async function send(url: string): Promise<unknown> {
  const run = { job: 'j', key: 'k', resource: 'f/j', token, signal: new AbortController().signal }
  const response = await fencedFetch(run, url, { method: 'POST', body: label })
  return response.status
}

function change(tx: Database.Database, key: string, hold: boolean): string {
  noteIn(tx, `${key} by ${label}`)
  if (hold) {
    say({ value: 'inside' })
    hear()
  }
  return label
}

function say(answer: Answer): void {
  writeSync(1, `${JSON.stringify(answer)}\n`)
}

/** Waits for the next line; null at the end of the input. */
function hear(): string | null {
  const byte = Buffer.alloc(1)
  const line: number[] = []
  while (readSync(0, byte, 0, 1, null) === 1) {
    if (byte[0] === 10) return Buffer.from(line).toString()
    line.push(byte[0] ?? 0)
  }
  return null
}

for (let line = hear(); line !== null; line = hear()) {
  try {
    say({ value: await run(JSON.parse(line) as Command) })
  } catch (error) {
    say({ code: String((error as { code?: unknown }).code ?? error) })
  }
}
