import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CommandLine } from './cli/command.js'
import { doctored } from './cli/doctored.js'
import { type OwnServer, ownServer } from './servers/index.js'

let command: CommandLine
let server: OwnServer
let admin: Redis
beforeAll(async () => {
  command = await CommandLine.build()
  server = await ownServer('redis')
  admin = new Redis(server.url)
})
afterAll(async () => {
  command.remove()
  admin.disconnect()
  await server.end()
})

describe('a doctor, and the Redis of a ledger', () => {
  it('sees whether rows may be thrown away', async () => {
    const good = await doctored(command, server.url, server.url)
    expect(good.server).toMatchObject({ pooler: null, eviction: 'noeviction' })
    expect(good.findings.map(({ finding }) => finding)).not.toContain('eviction')
    await admin.config('SET', 'maxmemory-policy', 'allkeys-lru')
    const bad = await doctored(command, server.url, server.url)
    expect(bad).toMatchObject({ code: 1, server: { eviction: 'allkeys-lru' } })
    expect(bad.findings[0]).toMatchObject({ finding: 'eviction', grave: true })
    await admin.config('SET', 'maxmemory-policy', 'noeviction')
  })

  it('sees how many connections are left', async () => {
    const others = Array.from({ length: 20 }, () => new Redis(server.url))
    for (const other of others) await other.ping()
    await admin.config('SET', 'maxclients', '30')
    const { server: seen, findings } = await doctored(command, server.url, server.url)
    for (const other of others) other.disconnect()
    expect(seen.connections).toMatchObject({ most: 30 })
    // Those, the node's, and the doctor's own.
    expect(seen.connections?.used).toBeGreaterThanOrEqual(24)
    expect(findings).toContainEqual(expect.objectContaining({ finding: 'pool-size' }))
  })
})
