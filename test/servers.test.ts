import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { BUNDLES, bundleMain, type Child, start } from './children.js'
import { startServer } from './servers/obtain.js'
import { filesLeftOut, STORES, storesUnderTest } from './servers/stores.js'
import type { Told } from './servers/warden.js'

const script = join(BUNDLES, `servers-test-${process.pid}.mjs`)

describe('the servers of the tests', () => {
  let warden: Child
  beforeAll(async () => {
    await bundleMain('servers/warden.ts', script)
    warden = start(script, [])
  })
  afterAll(() => warden.process.kill('SIGKILL'))

  async function ask(order: unknown): Promise<{ told: Told; error?: string }> {
    warden.process.stdin?.write(`${JSON.stringify({ number: 1, order })}\n`)
    return (await warden.line()) as { told: Told; error?: string }
  }

  it('start on the loopback, can be broken, and are gone with the process that asked for them', async () => {
    const { told } = await ask({ do: 'start', engine: 'postgres' })
    expect(new URL(told.url).hostname).toBe('127.0.0.1')
    const before = await startedAt(told.url)
    await ask({ do: 'kill', server: told.server })
    await expect(startedAt(told.url)).rejects.toThrow('ECONNREFUSED')
    await ask({ do: 'again', server: told.server })
    expect(await startedAt(told.url)).toBeGreaterThan(before)
    const folder = dirname(told.log ?? '')
    expect(existsSync(folder)).toBe(true)
    // What the system does when a process is killed.
    warden.process.stdin?.destroy()
    expect(await warden.ended()).toMatchObject({ code: 0 })
    await expect(startedAt(told.url)).rejects.toThrow('ECONNREFUSED')
    expect(existsSync(folder)).toBe(false)
  })

  it('say what to do where they cannot be had', async () => {
    const engine = {
      name: 'nosuch',
      variable: 'FLEETCRON_TEST_NOSUCH_URL',
      packages: [],
      image: null,
      programs: () => null,
      start: () => Promise.reject(new Error('never')),
    }
    await expect(startServer(engine, () => Promise.reject(new Error('never')))).rejects.toThrow(
      /^The tests need a nosuch server: .* Run: npm install .*, or set FLEETCRON_TEST_NOSUCH_URL, or leave it out/,
    )
  })
})

describe('the stores of a run', () => {
  it('are all of them unless some are named', () => {
    expect(storesUnderTest('')).toEqual(STORES)
    expect(filesLeftOut(STORES)).toEqual([])
    expect(storesUnderTest('sqlite, memory')).toEqual(['sqlite', 'memory'])
    expect(filesLeftOut(['postgres'])).not.toContain('test/store-postgres.test.ts')
    expect(filesLeftOut(['sqlite'])).toContain('test/store-postgres-*.test.ts')
  })

  it('are refused where there is no such store', () => {
    expect(() => storesUnderTest('sqlite,oracle')).toThrow('There is no store oracle to test; there are memory')
  })
})

async function startedAt(url: string): Promise<number> {
  const client = new pg.Client(url)
  await client.connect()
  const { rows } = await client.query('SELECT pg_postmaster_start_time() AS at')
  await client.end()
  return rows[0].at.getTime()
}
