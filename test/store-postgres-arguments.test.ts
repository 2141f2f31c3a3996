import { describe, expect, it } from 'vitest'
import { attend } from '../src/store/postgres/attend.js'
import { beat } from '../src/store/postgres/beat.js'
import { columns, literal, separatorsFor } from '../src/store/postgres/columns.js'
import { commit } from '../src/store/postgres/commit.js'
import type { Ledger } from '../src/store/postgres/ledger.js'
import { load } from '../src/store/postgres/load.js'
import { events, jobs, prune, runs } from '../src/store/postgres/people.js'
import { STEPS } from '../src/store/postgres/schema.js'
import type { Arguments } from '../src/store/postgres/server.js'
import { settle } from '../src/store/postgres/settle.js'
import { creation, queued, settlement } from '../src/testing/store/builders.js'

const SESSION = { id: 's', node: 'n', leaseMs: 10_000 }
const QUERY = { services: [], buckets: new Set<number>(), graceMs: 0, limit: 1, attempts: [], room: true }

describe('the arguments of a statement', () => {
  it.each([
    ['attend', (ledger: Ledger) => attend(ledger, SESSION, QUERY)],
    ['load', (ledger: Ledger) => load(ledger, {})],
    ['commit', (ledger: Ledger) => commit(ledger, SESSION, 0, [creation('c', 'billing:a')])],
    ['settle', (ledger: Ledger) => settle(ledger, [settlement(queued('billing:a', 'k'), 0)])],
    ['beat', (ledger: Ledger) => beat(ledger, SESSION, QUERY)],
    ['jobs', (ledger: Ledger) => jobs(ledger, { limit: 1 })],
    ['runs', (ledger: Ledger) => runs(ledger, { limit: 1 })],
    ['events', (ledger: Ledger) => events(ledger, { limit: 1 })],
    ['prune', (ledger: Ledger) => prune(ledger, { before: 0, limit: 1 })],
  ])('stand in the order of the parameters: %s', async (name, act) => {
    const [, list = ''] = new RegExp(`CREATE FUNCTION fleetcron\\.${name}\\(([^)]*)\\)`).exec(STEPS.join('')) ?? []
    const parameters = list.split(',').map((parameter) => parameter.trim().split(' ')[0])
    let sent: string[] = []
    const call = (called: string, args: Arguments) => {
      if (called === name) sent = Object.keys(args)
      return Promise.reject(new Error('far enough'))
    }
    const ledger = { server: { call, statementMs: 1 }, line: { call, tell: () => {} }, fleet: 'f', gate: 0n }
    await expect(act(ledger as unknown as Ledger)).rejects.toThrow('far enough')
    expect(sent).toEqual(parameters)
  })

  it('are escaped whatever they hold', () => {
    expect(literal(`it's \\ 'E' $$ "x"`)).toBe(`E'it''s \\\\ ''E'' $$ "x"'`)
    expect([literal(null), literal(5), literal(true), literal('')]).toEqual(['NULL', '5', 'true', "E''"])
    expect(() => literal('a\0b')).toThrow(expect.objectContaining({ code: 'OPTION_INVALID' }))
  })

  it('are columns that can be taken apart again, with any text in them', () => {
    const odd = ['\u001e', '\u001f', '\u001e1', '\u001f1\u001e', '1', '', '\u001e2\u001f2\u001e3']
    for (const texts of [odd, ['😀', "it's", 'a\\b', '日本語'], [], [''], ['\u001f']]) {
      const rows = [...texts, null, '', null].map((text) => ({ text }))
      const words = separatorsFor([rows])
      const { text } = columns(['text'], rows, words)
      const parts = text.split(words.sep)
      expect(parts.pop()).toBe('')
      expect(parts.map((part) => (part === words.none ? null : part))).toEqual(rows.map((row) => row.text))
    }
  })
})
