import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { BUNDLES, bundleMain, type Child, start } from './children.js'
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
})

async function startedAt(url: string): Promise<number> {
  const client = new pg.Client(url)
  await client.connect()
  const { rows } = await client.query('SELECT pg_postmaster_start_time() AS at')
  await client.end()
  return rows[0].at.getTime()
}
