import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, expect, it } from 'vitest'
import { createFleet, type Fleet } from '../../src/fleet/fleet.js'
import { createHttpHandler, type HttpHandler, toNodeHandler } from '../../src/http/index.js'
import { createSqliteStore } from '../../src/store/sqlite/index.js'
import { Random } from '../../src/testing/random.js'
import { type Attack, type Original, original, REPLAYED_OR_ALTERED, SIGNED_AGAIN, type Wire } from './attacks.js'
import { LIVE, NEXT, Stand } from './stand.js'

const REQUESTS = 10_000
const ORIGINALS = 40

const folder = mkdtempSync(join(tmpdir(), 'fleetcron-replays-'))
afterAll(() => rm(folder, { recursive: true, force: true }))

interface Served {
  readonly fleet: Fleet
  readonly handler: HttpHandler
  readonly url: string
}

/** A node with a connection and a web server of its own; the ledger is a file. */
async function node(stand: Stand, calls: string[]): Promise<Served> {
  const driver = (path: string) => new Database(path)
  const store = createSqliteStore({ path: join(folder, 'ledger.db'), fleet: 'http', driver })
  const fleet = createFleet({ fleet: 'http', service: 'app', store, logger: false })
  fleet.job('it', { concurrency: 4 }, (run) => void calls.push(run.key))
  fleet.job('other', {}, (run) => void calls.push(run.key))
  await fleet.start()
  const handler = createHttpHandler(fleet, { secrets: [LIVE, NEXT] })
  return { fleet, handler, url: await stand.serve(toNodeHandler(handler)) }
}

function overSocket({ url }: Served, { target, method, headers, body }: Wire): Promise<Response> {
  return fetch(url + target, { method, headers, body })
}

function direct({ handler }: Served, { target, method, headers, body }: Wire): Promise<Response> {
  return handler(new Request(`http://localhost${target}`, { method, headers, body }))
}

async function send(chance: Random, nodes: readonly Served[], wire: Wire) {
  const to = chance.pick(nodes)
  const response = await (chance.chance(0.3) ? overSocket(to, wire) : direct(to, wire))
  const { id, code } = (await response.json()) as { id?: string; code?: string }
  return { status: response.status, id, code }
}

it(`${REQUESTS} replayed or altered signed requests to two nodes make no second run, also after both were started anew`, async () => {
  const chance = new Random('replays')
  const calls: string[] = []
  const stand = new Stand()
  const attacks = [...REPLAYED_OR_ALTERED, ...SIGNED_AGAIN]
  const seen: { readonly request: Original; readonly id: string | undefined }[] = []
  const wrong: object[] = []
  const counts = new Map<Attack, number>()
  let nodes = [await node(stand, calls), await node(stand, calls)]

  for (let index = 0; index < ORIGINALS; index += 1) {
    const request = original(index)
    const { status, id } = await send(chance, nodes, request)
    expect([200, 202]).toContain(status)
    seen.push({ request, id })
  }
  const attack = async () => {
    const found = chance.pick(attacks)
    const { request, id } = chance.pick(seen)
    const answer = await send(chance, nodes, found.make(request, chance))
    const isRight = found.status.includes(answer.status) && (answer.id === id) === (found.isFirst ?? false)
    if (!isRight) wrong.push({ attack: found.name, answer, id })
    counts.set(found, (counts.get(found) ?? 0) + 1)
  }
  for (let sent = 0; sent < REQUESTS; sent += 8) {
    if (sent === REQUESTS / 2) {
      await Promise.all(nodes.map(({ fleet }) => fleet.stop()))
      nodes = [await node(stand, calls), await node(stand, calls)]
    }
    await Promise.all(Array.from({ length: 8 }, attack))
  }

  expect(wrong).toEqual([])
  expect([...counts.values()].reduce((sum, count) => sum + count, 0)).toBe(REQUESTS)
  expect(counts.size).toBe(attacks.length)
  const runs = await nodes[0]?.fleet.runs({ limit: 1_000 })
  expect(runs?.map(({ state, attempt }) => `${state} ${attempt}`)).toEqual(seen.map(() => 'succeeded 1'))
  expect(new Set(calls).size).toBe(ORIGINALS)
  expect(calls).toHaveLength(ORIGINALS)
  await Promise.all(nodes.map(({ fleet }) => fleet.stop()))
  await stand.end()
}, 300_000)
