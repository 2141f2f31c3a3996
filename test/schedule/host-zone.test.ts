import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const run = promisify(execFile)

let folder = ''

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fleetcron-'))
  await build({
    entryPoints: [new URL('../../src/schedule/index.ts', import.meta.url).pathname],
    outfile: join(folder, 'schedule.mjs'),
    bundle: true,
    platform: 'node',
    format: 'esm',
  })
})

afterAll(() => rm(folder, { recursive: true }))

const PROBE = `
  const { nextOccurrences, previousOccurrences, scheduleSpec, intlZones } = await import(process.argv[1])
  const from = Date.parse('2025-10-05T02:00:00.000Z')
  const list = ['UTC', 'Europe/Berlin', 'Australia/Sydney', 'Australia/Lord_Howe', '+05:45'].flatMap((timeZone) =>
    ['0 0 * * * *', '30 2 * * *', '0 3 * * 0', '0 0 L * *'].flatMap((expression) => [
      nextOccurrences(expression, { timeZone, from, count: 5 }),
      previousOccurrences(expression, { timeZone, from, count: 5 }),
    ]))
  const host = new Date(2025, 9, 5, 2, 30).toISOString()
  const at = scheduleSpec({ at: '2025-10-05T02:30', timeZone: 'UTC' })
  console.log(JSON.stringify({ host, list, at, offset: intlZones('Europe/Berlin').offsetAt(from) }))
`

async function under(TZ: string): Promise<{ host: string }> {
  const args = ['--input-type=module', '-e', PROBE, join(folder, 'schedule.mjs')]
  const { stdout } = await run(process.execPath, args, { env: { ...process.env, TZ } })
  return JSON.parse(stdout)
}

describe('the zone of the host', () => {
  it.each(['Australia/Sydney', 'America/New_York', 'Asia/Kathmandu', 'Pacific/Apia'])(
    'does not matter: TZ=%s (S38)',
    async (TZ) => {
      const { host: ours, ...expected } = await under('UTC')
      const { host: theirs, ...found } = await under(TZ)
      expect(theirs).not.toBe(ours)
      expect(found).toEqual(expected)
    },
  )
})
