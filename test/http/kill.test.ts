import { mkdirSync, mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { signRequest } from '../../src/http/index.js'
import { createSqliteStore } from '../../src/store/sqlite/index.js'
import { BUNDLES, bundleMain, start } from '../children.js'
import { LIVE, RUNS, Stand } from './stand.js'

const script = join(BUNDLES, `http-${process.pid}.mjs`)
const folder = mkdtempSync(join(tmpdir(), 'fleetcron-http-kill-'))
const path = join(folder, 'ledger.db')
const body = '{"data":{"customer":42}}'

let stand: Stand
let calls: unknown[]
beforeAll(async () => {
  mkdirSync(BUNDLES, { recursive: true })
  await bundleMain('http/child.ts', script)
  stand = new Stand(createSqliteStore({ path, fleet: 'http', driver: (file) => new Database(file) }))
  await stand.node((run) => calls.push(run.data))
})
beforeEach(() => {
  calls = []
})
afterAll(async () => {
  await stand.end()
  await Promise.all([rm(folder, { recursive: true, force: true }), rm(script, { force: true })])
})

/** The node that takes the request dies between its commit and its answer. */
async function unanswered(headers: Record<string, string>): Promise<void> {
  const child = start(script, [path, LIVE])
  const port = await child.line()
  const sent = fetch(`http://127.0.0.1:${port}${RUNS}`, { method: 'POST', body, headers })
  await expect(sent).rejects.toThrow('fetch failed')
  expect(await child.ended()).toMatchObject({ signal: 'SIGKILL' })
}

it.each([
  ['as it was, without a key', undefined, false],
  ['as it was, with a key', 'order-1', false],
  ['with its key, signed anew', 'order-2', true],
])(
  'a request whose node was killed before it answered makes one run when it is repeated %s',
  async (_, key, isAnew) => {
    const sign = () => signRequest({ secret: LIVE, url: RUNS, body, ...(key === undefined ? {} : { key }) })
    const headers = sign()
    const before = await stand.fleets[0]?.runs({ job: 'it' })
    await unanswered(headers)
    const again = isAnew ? sign() : headers
    const answer = await stand.send(`${RUNS}`, { method: 'POST', body, headers: again })
    expect([200, 202]).toContain(answer.status)
    await stand.fleets[0]?.finished({ job: 'it', key: answer.body.key })
    expect(await stand.fleets[0]?.runs({ job: 'it' })).toHaveLength((before?.length ?? 0) + 1)
    expect(calls).toEqual([{ customer: 42 }])
  },
)
