import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { CommandLine } from './cli/command.js'
import { type Doctored, doctored } from './cli/doctored.js'
import { PostgresPlace } from './postgres/place.js'
import { sharedServer, type TestServer } from './servers/index.js'

let command: CommandLine
let direct: TestServer
let pooled: TestServer
let place: PostgresPlace
beforeAll(async () => {
  command = await CommandLine.build()
  ;[direct, pooled] = await Promise.all([sharedServer('postgres'), sharedServer('pgbouncer')])
})
afterAll(() => command.remove())
beforeEach(() => {
  place = new PostgresPlace(direct.url)
})
afterEach(() => place.remove())

/** The same ledger, by another way. */
function ledger(url: string, database = ''): string {
  const way = new URL(url)
  if (database !== '') way.pathname = `/${database}`
  way.searchParams.set('schema', place.schema)
  return way.href
}

const look = (url: string): Promise<Doctored> => doctored(command, ledger(direct.url), url)
const poolers = ({ findings }: Doctored) => findings.filter(({ finding }) => finding === 'pooler')

describe('a doctor, and what stands before Postgres', () => {
  it('sees nothing on the direct way, and counts the connections of the server', async () => {
    const seen = await look(ledger(direct.url))
    expect(seen.server).toEqual({
      connections: { used: expect.any(Number), most: expect.any(Number) },
      pooler: null,
      eviction: null,
    })
    // The node's own two, and the doctor's.
    expect(seen.server.connections?.used).toBeGreaterThanOrEqual(2)
    expect(seen.server.connections?.most).toBeGreaterThan(10)
    expect(poolers(seen)).toEqual([])
  })

  it('knows a pooler that gives each transaction a server', async () => {
    const seen = await look(ledger(pooled.url))
    expect(seen.server.pooler).toBe('transaction')
    expect(poolers(seen)).toMatchObject([{ grave: false, what: expect.stringContaining('transaction mode') }])
  })

  it('knows the other modes, of which one is grave', async () => {
    // Of somebody else's pooler nobody can ask for another mode.
    const modes = pooled.log === null ? [] : (['session', 'statement'] as const)
    for (const mode of modes) {
      const seen = await look(ledger(pooled.url, `by_${mode}`))
      expect(seen.server.pooler).toBe(mode)
      expect(poolers(seen)).toMatchObject([
        { grave: mode === 'statement', what: expect.stringContaining(`${mode} mode`) },
      ])
    }
  })
})
