import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Result } from '../examples/billing/demo/reckoning.js'
import { DEMO_MS, isAlive, KEYS, lastLine, type Played, play } from './demo/play.js'

const folder = mkdtempSync(join(tmpdir(), 'fleetcron-demo-provider-'))

afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('npm run demo -- --provider', () => {
  let played: Played
  let result: Result

  // It gives up by itself before that.
  beforeAll(async () => {
    played = await play('--provider', '--json', '--seed', '7', '--keep', folder)
    result = lastLine(played)
  }, DEMO_MS + 60_000)

  it('charges everybody once while processes die and sleep in their requests', () => {
    expect(played, played.stdout + played.stderr).toMatchObject({ code: 0, stderr: '' })
    expect(result).toMatchObject({ customers: 40, duplicates: 0, missing: 0, doubleCharges: 0, missingCharges: 0 })
    expect(result).toMatchObject({ uncertain: 0, killedInSend: 1, stoppedInSend: 1, paused: 1 })
    expect(result.lateWritesRefused).toBeGreaterThanOrEqual(2)
    expect(result.charges).toBe(result.periods * 40)
    expect(Object.keys(result).slice(0, KEYS.length)).toEqual(KEYS)
  })

  it('tells the same by plain SQL from the two databases that it keeps', () => {
    const books = new Database(join(folder, 'billing.db'), { readonly: true })
    books.prepare('ATTACH ? AS provider').run(join(folder, 'provider.db'))
    const count = (sql: string) => books.prepare(sql).pluck().get()
    expect(count('SELECT count(*) FROM provider.charge')).toBe(result.charges)
    expect(count('SELECT count(DISTINCT reference) FROM provider.charge')).toBe(result.charges)
    const unpaid = `SELECT count(*) FROM invoice WHERE 'charge:' || period || ':' || customer_id NOT IN
      (SELECT reference FROM provider.charge)`
    expect(count(unpaid)).toBe(0)
    const confirmed = `SELECT count(*) FROM fleetcron_effect JOIN provider.charge ON charge.reference = fleetcron_effect.key
      WHERE state = 'confirmed' AND result ->> 'id' = charge.id`
    expect(count(confirmed)).toBe(result.charges)
    books.close()
  })

  it('leaves no process', () => {
    expect(result.pids.filter(isAlive)).toEqual([])
  })

  it('is refused where there are no effects', async () => {
    const refused = await play('--plain', '--provider')
    expect(refused).toMatchObject({
      code: 2,
      stdout: '',
      stderr: 'demo: --plain knows no effects: leave --provider out\n',
    })
  })
})
