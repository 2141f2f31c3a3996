import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import Database from 'better-sqlite3'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sqlite } from '../../src/effect/sqlite/index.js'
import { attemptOf } from '../effect/business-folder.js'
import { CommandLine } from './command.js'
import { event, FLEET, PreparedLedger } from './ledger.js'

/**
 * Every command that the help lists, on one prepared ledger and one business database: with `--json`, as a table, and the fields
 * that docs/cli.md names.
 */

const page = readFileSync(join(import.meta.dirname, '../../docs/cli.md'), 'utf8')
const KEY = '2026-11-28T00:00'

let command: CommandLine
let ledger: PreparedLedger
let names: string[] = []
let commands: Readonly<Record<string, Given>>

interface Given {
  readonly args: readonly string[]
  readonly answer: unknown
  readonly code?: number
  /** What a person reads. */
  readonly text?: RegExp
}

beforeAll(async () => {
  command = await CommandLine.build()
  const { out } = await command.run(['--help'])
  names = [...out.matchAll(/^ {2}([a-z-]+) \[options\]/gm)].map(([, name]) => name ?? '')
  const [app, business] = [await bundledApp(), await prepared()]
  commands = table(app, business)
})
afterAll(async () => {
  command.remove()
  await ledger.remove()
})

async function bundledApp(): Promise<string> {
  const app = join(dirname(command.script), 'app.js')
  await build({
    entryPoints: [join(import.meta.dirname, '../platform/app.ts')],
    outfile: app,
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
  })
  return app
}

/** A ledger with a job that has failed and waits, a node, an event; and a business database with a call nobody knows of. */
async function prepared(): Promise<string> {
  ledger = await PreparedLedger.make(Date.now())
  const web = await ledger.node('web1', { manifest: { 'billing:invoices': 'hash-1' } })
  const defined = event('e1', 'billing:invoices', { kind: 'defined', by: 'web1' })
  await ledger.job('billing:invoices', { events: [defined] })
  await ledger.job('billing:held')
  const error = { name: 'RateError', message: 'no rates', stack: null }
  const run = await ledger.running(web, 'billing:invoices', KEY)
  await ledger.settled(run, { state: 'failed', reason: 'error', error, result: null })
  await ledger.running(web, 'billing:held', KEY)
  // Commands go by the real clock: seen a minute ahead of it, a node is live for as long as these tests take.
  ledger.now = Date.now() + 60_000
  await ledger.node('web2', { manifest: { 'billing:invoices': 'hash-1' } })
  const path = join(ledger.folder, 'business.db')
  const database = new Database(path)
  await sqlite(database).ensure()
  const send = () => {
    throw new Error('socket hang up')
  }
  for (const key of ['charge:1', 'charge:2']) {
    const call = attemptOf(sqlite(database)).call(key, { input: {}, send, keyValidFor: 0, retry: 0 })
    await expect(call).rejects.toMatchObject({ code: 'EFFECT_UNCERTAIN' })
  }
  database.close()
  writeFileSync(join(ledger.folder, 'token'), 'a-token-of-sixteen-characters\n')
  return `sqlite:${path}`
}

function table(app: string, business: string): Readonly<Record<string, Given>> {
  const where = ['--store', ledger.url, '--fleet', FLEET]
  const job = { job: 'billing:invoices', name: 'invoices', failures: 1 }
  const run = { job: 'billing:invoices', key: KEY, state: 'failed', reason: 'error', error: { message: 'no rates' } }
  const manual = { job: 'billing:invoices', cause: 'manual', state: 'queued' }
  const effects = ['--effects', business]
  return {
    next: {
      args: ['0 0 * * *', '-z', 'UTC', '-n', '1'],
      answer: [expect.stringMatching(/T00:00:00\.000Z$/)],
      text: /^label /,
    },
    jobs: { args: where, answer: [{ job: 'billing:held', running: 1 }, job], text: /^job .*\n.*held/ },
    job: {
      args: ['invoices', ...where],
      answer: { ...job, hostedBy: ['web2'], lastRuns: [{ key: KEY }] },
      text: /no rates|failed/,
    },
    runs: { args: ['invoices', ...where], answer: [run], text: /failed/ },
    'run-info': {
      args: ['invoices', KEY, ...where],
      answer: { ...run, attempts: [{ outcome: null }] },
      text: /no rates/,
    },
    nodes: { args: where, answer: expect.arrayContaining([expect.objectContaining({ label: 'web1' })]), text: /web1/ },
    events: { args: ['invoices', ...where], answer: [{ kind: 'defined', by: 'web1' }], text: /defined/ },
    trigger: { args: ['invoices', ...where, '--data', '1'], answer: { ...manual, data: 1 }, text: /manual:/ },
    pause: { args: ['invoices', ...where, '--by', 'ada'], answer: { ...job, paused: { by: 'ada' } }, text: /paused/ },
    resume: {
      args: ['invoices', ...where],
      answer: { job: 'billing:invoices', paused: null, failures: 0 },
      text: /resumed|again/,
    },
    retry: { args: ['invoices', KEY, ...where], answer: { ...manual, retryOf: KEY }, text: /manual:/ },
    cancel: { args: ['held', KEY, ...where], answer: { key: KEY, stop: { kind: 'cancel' } }, text: /asked|stop/ },
    effects: {
      args: effects,
      answer: [{ key: 'charge:1', state: 'uncertain' }, { key: 'charge:2' }],
      text: /charge:2/,
    },
    resolve: {
      args: ['charge:1', '--rejected', 'no such card', '--why', 'asked them', ...effects],
      answer: { key: 'charge:1', state: 'rejected', why: 'asked them' },
    },
    run: { args: ['rare', '--app', app], answer: { job: 'rare', runs: [] }, text: /^nothing is due; next: / },
    export: {
      args: ['kubernetes', ...where, '--image', 'i', '--command', 'node job.js', '--job', 'invoices'],
      answer: { kind: 'List', items: [{ kind: 'CronJob', metadata: { name: 'invoices' } }] },
      text: /^---\napiVersion: batch\/v1\nkind: CronJob\n/,
    },
    doctor: {
      args: [...where, ...effects],
      answer: { store: { kind: 'sqlite' }, jobs: 2 },
      code: 1,
      text: /GRAVE|note/,
    },
    migrate: {
      args: ['--store', ledger.url, '--fleet', FLEET],
      answer: { from: expect.any(Number), to: expect.any(Number) },
      text: /nothing to do/,
    },
  }
}

async function said(name: string, ...more: string[]) {
  const { args, code = 0 } = commands[name] as Given
  const ended = await command.run([name, ...args, ...more], {
    LEDGER: `sqlite:${ledger.folder}/app.db`,
    WORKED: '/dev/null',
  })
  expect({ name, code: ended.code, err: ended.err }).toEqual({ name, code, err: '' })
  return ended.out
}

/** The fields of an answer, or of the items of a list, as docs/cli.md has them. */
function documented(name: string): string[] | null {
  const [, line = ''] = new RegExp(`^- (?:.*)\`${name}\`[^:\`]*: ([\\s\\S]*?)(?=\\n- |\\n\\n)`, 'm').exec(page) ?? []
  const [, fields = ''] = /\{ ([a-zA-Z, \n]+) \}/.exec(line) ?? []
  return fields === '' ? null : fields.split(',').map((field) => field.trim())
}

describe('every command', () => {
  it('is one of those tried here', () => {
    expect(names.filter((name) => name !== 'serve').sort()).toEqual(Object.keys(commands).sort())
  })

  it('answers with JSON, with the fields that are documented', async () => {
    let checked = 0
    for (const name of Object.keys(commands)) {
      const answer = JSON.parse(await said(name, '--json')) as unknown
      expect(answer, name).toMatchObject(commands[name]?.answer as object)
      const fields = documented(name)
      if (fields === null) continue
      const [one] = Array.isArray(answer) ? answer : [answer]
      expect(Object.keys(one as object), name).toEqual(expect.arrayContaining(fields))
      checked += 1
    }
    expect(checked).toBeGreaterThanOrEqual(7)
  })

  it('tells people the same in lines', async () => {
    for (const [name, { text }] of Object.entries(commands)) {
      if (text === undefined || ['cancel', 'retry'].includes(name)) continue
      expect(await said(name), name).toMatch(text)
    }
  })

  it('says what it serves, and ends with 0 when it is asked to stop', async () => {
    const where = ['--store', ledger.url, '--fleet', FLEET, '--token-file', join(ledger.folder, 'token'), '--port', '0']
    const child = command.start(['serve', ...where, '--json'])
    const closed = once(child, 'close')
    const { value } = await createInterface({ input: child.stdout })[Symbol.asyncIterator]().next()
    expect(JSON.parse(value)).toMatchObject({
      url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      fleet: FLEET,
      kind: 'sqlite',
    })
    child.kill('SIGTERM')
    expect((await closed)[0]).toBe(0)
  })
})
