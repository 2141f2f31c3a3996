import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createFleet, type Fleet } from '../src/fleet/fleet.js'
import type { Run } from '../src/fleet/run.js'
import { createRemoteStore } from '../src/store/remote/index.js'
import { CommandLine } from './cli/command.js'
import { TOKEN } from './remote/place.js'

let command: CommandLine
let folder = ''
let tokenFile = ''
const servers: ServeProcess[] = []

beforeAll(async () => {
  command = await CommandLine.build()
})
afterAll(() => command.remove())
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'served-'))
  tokenFile = join(folder, 'tokens')
  writeFileSync(tokenFile, `# of the tests\n${TOKEN}\n`)
})
afterEach(async () => {
  for (const server of servers.splice(0)) await server.end('SIGKILL')
  rmSync(folder, { recursive: true })
})

interface ServeProcess {
  readonly url: string
  readonly port: string
  end(signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null>
}

async function serve(port = '0'): Promise<ServeProcess> {
  const args = ['serve', '--store', `sqlite:${folder}/ledger.db`, '--fleet', 'billing', '--token-file', tokenFile]
  const child = command.start([...args, '--port', port, '--json'])
  child.stderr.resume()
  const closed = once(child, 'close') as Promise<[number | null]>
  const { value } = await createInterface({ input: child.stdout })[Symbol.asyncIterator]().next()
  const { url } = JSON.parse(String(value)) as { url: string }
  const server = {
    url,
    port: new URL(url).port,
    end: async (signal: NodeJS.Signals) => {
      if (child.exitCode === null && child.signalCode === null) child.kill(signal)
      return (await closed)[0]
    },
  }
  servers.push(server)
  return server
}

function node(url: string, token = TOKEN): Fleet {
  const store = createRemoteStore({ url, fleet: 'billing', token, deadlineMs: 2_000 })
  return createFleet({ fleet: 'billing', service: 'billing', store, logger: false })
}

describe('fleetcron serve', () => {
  it('loses nothing when it is killed in the middle of runs and started again', async () => {
    const server = await serve()
    const fleet = node(server.url)
    const worked = new Map<string, number>()
    const note = (run: Run<never>) => worked.set(run.key, (worked.get(run.key) ?? 0) + 1)
    let finish = () => {}
    const held = new Promise<void>((resolve) => {
      finish = resolve
    })
    fleet.job('tick', { every: '1s', overlap: 'wait', catchUp: { policy: 'each', within: '1h' } }, note as never)
    fleet.job('close-month', {}, async (run) => {
      note(run as never)
      if (run.data === 'held') await held
      return 'closed'
    })
    await fleet.start()
    const begun = fleet.once('run-started', ({ job }) => job === 'billing:close-month')
    const first = await fleet.trigger('close-month', { data: 'held', key: 'first' })
    await begun
    const away = fleet.once('store-away')
    await server.end('SIGKILL')
    await away
    // It ends while nobody can be told.
    finish()
    await expect(fleet.trigger('close-month', { key: 'second' })).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    const back = fleet.once('store-back')
    await serve(server.port)
    await back
    expect(await fleet.finished(first)).toMatchObject({ state: 'succeeded', attempt: 1, result: '"closed"' })
    const second = await fleet.trigger('close-month', { key: 'second' })
    expect(await fleet.finished(second)).toMatchObject({ state: 'succeeded' })
    for (let i = 0; i < 3; i++) await fleet.once('run-settled', ({ job }) => job === 'billing:tick')
    // What was due until now is decided; it ends.
    const due = await fleet.runs({ job: 'tick', limit: 1_000 })
    const ticks = await Promise.all(due.map((run) => fleet.finished(run)))
    await fleet.stop()
    const instants = ticks.map((run) => run.scheduledAt).sort((a, b) => a - b)
    expect(instants.length).toBeGreaterThan(1)
    expect(instants).toEqual(instants.map((_, i) => (instants[0] ?? 0) + i * 1_000))
    expect(new Set(ticks.map((run) => run.state))).toEqual(new Set(['succeeded']))
    expect([...worked.values()].every((times) => times === 1)).toBe(true)
  })

  it('stops in good order, and the next one opens the same ledger', async () => {
    const server = await serve()
    const fleet = node(server.url)
    fleet.job('hello', {}, () => 'done')
    await fleet.start()
    const run = await fleet.finished(await fleet.trigger('hello'))
    await fleet.stop()
    expect(await server.end('SIGTERM')).toBe(0)
    const again = await serve()
    const store = createRemoteStore({ url: again.url, fleet: 'billing', token: TOKEN })
    expect(await store.open()).toMatchObject({ kind: 'remote', grade: 'correct' })
    expect((await store.load({ keys: [run] })).runs).toEqual([run])
    await store.close()
  })

  it('reads its tokens again when their file changes, and keeps them when it is spoilt', async () => {
    const { url } = await serve()
    const status = async (token: string) => {
      const headers = { authorization: `Bearer ${token}` }
      return (await fetch(`${url}/v1/fleets/billing/open`, { method: 'POST', headers, body: '{}' })).status
    }
    const next = `${TOKEN}-and-the-next`
    writeFileSync(tokenFile, `${TOKEN}\n${next}\n`)
    expect([await status(TOKEN), await status(next)]).toEqual([200, 200])
    writeFileSync(tokenFile, `${next}\n`)
    expect([await status(TOKEN), await status(next)]).toEqual([401, 200])
    writeFileSync(tokenFile, '\n')
    expect(await status(next)).toBe(200)
  })

  it.each([
    [['--token-file', 'missing'], 'names missing: there is no such file'],
    [['--token-file', '/dev/null'], 'holds none'],
    [['--host', '0.0.0.0'], '--allow-plain-http'],
    [['--tls-cert', 'cert.pem'], 'go together'],
    [['--port', '70000'], 'from 0 to 65535'],
    [['--max-body', '0'], 'from 1 to 1024'],
  ])('ends with 2 and a sentence for %j', async (words, message) => {
    const args = ['serve', '--store', `sqlite:${folder}/ledger.db`, '--fleet', 'billing', '--token-file', tokenFile]
    const { code, err } = await command.run([...args, ...words])
    expect(code).toBe(2)
    expect(err).toContain(message)
    expect(err).not.toContain(TOKEN)
  })

  it('tells in one line that another process listens there', async () => {
    const { port } = await serve()
    const where = ['--store', `sqlite:${folder}/other.db`, '--fleet', 'billing', '--token-file', tokenFile]
    const { code, err } = await command.run(['serve', ...where, '--port', port])
    const sentence = `The server of the ledger cannot listen at 127.0.0.1:${port}: another process listens there. Choose another --host or --port.`
    expect({ code, err }).toEqual({ code: 2, err: `fleetcron: ${sentence}\n` })
  })

  it('says of a ledger in memory what is true of one that is handed round', async () => {
    const where = ['--store', 'memory:', '--fleet', 'billing', '--token-file', tokenFile, '--port', '0', '--json']
    const child = command.start(['serve', ...where])
    const closed = once(child, 'close')
    const { value } = await createInterface({ input: child.stdout })[Symbol.asyncIterator]().next()
    child.kill('SIGTERM')
    expect(JSON.parse(String(value))).toMatchObject({
      kind: 'memory',
      remark: 'The ledger is kept in the memory of this process: it is lost when this process ends.',
    })
    expect((await closed)[0]).toBe(0)
  })
})
