import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createFleet, type Fleet } from '../../src/fleet/fleet.js'
import { BODY_LIMIT } from '../../src/http/body.js'
import { createHttpHandler, HTTP_CODES, toNodeHandler } from '../../src/http/index.js'
import { HTTP_DEFAULTS } from '../../src/http/options.js'
import { createMemoryStore } from '../../src/store/memory/index.js'
import { answerOf, LIVE, Stand, TOKEN } from './stand.js'

const page = readFileSync(join(import.meta.dirname, '../../docs/http.md'), 'utf8')
const run = promisify(execFile)

let stand: Stand
let fleet: Fleet
const calls: unknown[] = []
const pokes: string[] = []
beforeEach(async () => {
  calls.length = 0
  pokes.length = 0
  stand = new Stand()
  fleet = createFleet({ fleet: 'http', service: 'app', store: createMemoryStore(), logger: false })
  stand.fleets.push(fleet)
  fleet.job('month-end', {}, (each) => calls.push(each.data))
  fleet.job('daily-invoices', { every: '4s', attend: 'poke' }, (each) => pokes.push(each.key))
  await fleet.start()
  await stand.serve(toNodeHandler(createHttpHandler(fleet, { secrets: [LIVE], tokens: [TOKEN] })))
})
afterEach(() => stand.end())

describe('the call of GitHub Actions', () => {
  /** What stands under `run: |`. */
  function script(): string {
    const [, text = ''] = /- run: \|\n((?: {10}.*\n)+)/.exec(page) ?? []
    return text.replace(/^ {10}/gm, '')
  }

  async function attempt(secret: string) {
    const cwd = mkdtempSync(join(tmpdir(), 'fleetcron-actions-'))
    const env = { PATH: process.env.PATH, FLEET_URL: stand.urls[0], FLEET_SECRET: secret, KEY: 'month-end-1' }
    try {
      // As GitHub starts it.
      return await run('bash', ['-e', '-c', script()], { cwd, env })
    } finally {
      await rm(cwd, { recursive: true, force: true })
    }
  }

  it('is signed by openssl, and gives the first run when it is repeated', async () => {
    const [first, second] = [await attempt(LIVE), await attempt(LIVE)]
    const found = JSON.parse(first.stdout)
    expect(found).toMatchObject({ job: 'app:month-end', state: 'succeeded', data: { by: 'GitHub' } })
    expect(JSON.parse(second.stdout).id).toBe(found.id)
    expect(calls).toEqual([{ by: 'GitHub' }])
  })

  it('fails under another secret', async () => {
    await expect(attempt(`${LIVE}2`)).rejects.toMatchObject({ stdout: expect.stringContaining('UNAUTHORIZED') })
    expect(calls).toEqual([])
  })
})

describe("the calls of platforms' schedulers", () => {
  /** The path, header and body of each command of the page that has a token. */
  const targets = [...page.matchAll(/https:\/\/app\.example(\/fleetcron\/jobs\/daily-invoices\/runs[^\s']*)/g)]
  const bodies = [...page.matchAll(/(?:"Input": "|--message-body=')(\{\\?"occurrence\\?": \\?"due\\?"\})/g)]

  it('stand on the page', () => {
    expect(targets.length).toBeGreaterThanOrEqual(3)
    expect(bodies.map(([, body]) => body?.replaceAll('\\', ''))).toEqual(Array(2).fill('{"occurrence": "due"}'))
    expect(page.match(/(ApiKeyName=)?Authorization(,ApiKeyValue)?=Bearer \$FLEET_TOKEN/g)).toHaveLength(2)
  })

  it('start one run, however often a platform fires', async () => {
    const [, target = ''] = targets.find(([, each]) => each?.includes('wait=60s')) ?? []
    const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/octet-stream' }
    const fire = async () =>
      answerOf(await fetch(stand.urls[0] + target, { method: 'POST', headers, body: '{"occurrence": "due"}' }))
    const answers = await Promise.all([fire(), fire(), fire()])
    // Each waits for the occurrence that comes within 5 s; on a slow machine it may be the one after it.
    const keys = new Set(answers.map(({ body }) => body.key))
    expect(answers.map(({ status, body }) => `${status} ${body.state} ${body.cause} ${body.attempt}`)).toEqual(
      answers.map(() => '200 succeeded schedule 1'),
    )
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(keys.size)
    expect(pokes.filter((key) => keys.has(key))).toHaveLength(keys.size)
  })
})

describe('the page', () => {
  it('names every code of the door', () => {
    const [, table = ''] = page.split('## Refusals')
    for (const code of HTTP_CODES) expect(table).toContain(`\`${code}\``)
  })

  it('has the defaults and limits of the source', () => {
    expect(page).toContain(`| \`path\` | \`'${HTTP_DEFAULTS.path}'\` |`)
    expect(page).toContain(`| \`longestWait\` | \`'${HTTP_DEFAULTS.longestWaitMs / 1_000}s'\` |`)
    expect(page).toContain(`${BODY_LIMIT / 1_024} KiB`)
  })
})
