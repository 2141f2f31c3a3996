import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { creation } from '../src/testing/store/builders.js'
import { BUNDLES, bundleMain, type Child, start } from './children.js'
import type { ChildCommand } from './mysql/child.js'
import { MysqlPlace } from './mysql/place.js'
import { TestSession } from './postgres/session.js'
import { type OwnServer, ownServer, sharedServer } from './servers/index.js'

const script = join(BUNDLES, `mysql-child-${process.pid}.mjs`)
let place: MysqlPlace
let owned: OwnServer | null = null
const children: Child[] = []

beforeAll(() => bundleMain('mysql/child.ts', script))
afterAll(() => rmSync(script))
beforeEach(async () => {
  place = new MysqlPlace((await sharedServer('mariadb')).url)
})
afterEach(async () => {
  for (const child of children.splice(0)) {
    child.process.kill('SIGKILL')
    await child.ended()
  }
  await place.remove()
  await owned?.end()
  owned = null
})

function run(command: ChildCommand): Child {
  const child = start(script, [command, place.url, place.prefix])
  children.push(child)
  return child
}

/** Ten processes do the same at the same time; gives what each of them says. */
async function tenAtOnce(command: ChildCommand): Promise<unknown[]> {
  const ten = Array.from({ length: 10 }, () => run(command))
  for (const child of ten) expect(await child.line()).toBe('ready')
  for (const child of ten) child.go()
  const said = await Promise.all(ten.map((child) => child.line()))
  for (const child of ten) expect(await child.ended()).toEqual({ code: 0, signal: null, errors: '' })
  return said
}

describe('a MySQL ledger and several processes', () => {
  it('is created by ten of them at once as one ledger', async () => {
    const incarnations = await tenAtOnce('open')
    expect(new Set(incarnations).size).toBe(1)
    expect(await place.sql(`SELECT value + 0 AS version FROM PREFIX_meta WHERE name = 'schema'`)).toEqual([
      { version: 1 },
    ])
  })

  it('is upgraded by ten of them at once, and keeps what it held', async () => {
    const store = place.store('f')
    await store.open()
    const session = await TestSession.begin(store)
    await session.commit(creation('c', 'billing:a'))
    const read = await session.read('billing:a')
    expect(new Set(await tenAtOnce('upgrade'))).toEqual(new Set(['upgraded']))
    // One that runs already goes on beside the later ones.
    expect(await session.read('billing:a')).toEqual(read)
    expect(await session.outcomes(creation('c2', 'billing:b'))).toEqual(['won'])
    expect(await place.sql(`SELECT note FROM PREFIX_job WHERE job = 'billing:a'`)).toEqual([{ note: null }])
    await store.close()
  })

  it('keeps all that was answered when writers are killed, and then the server', async () => {
    await place.remove()
    owned = await ownServer('mariadb')
    place = new MysqlPlace(owned.url)
    const told: unknown[] = []
    for (let i = 0; i < 2; i++) {
      const child = run('commit')
      expect(await child.line()).toBe('ready')
      for (let n = 0; n < 20; n++) told.push(await child.line())
      child.process.kill('SIGKILL')
      told.push(...(await rest(child)))
    }
    const last = run('commit')
    expect(await last.line()).toBe('ready')
    for (let n = 0; n < 20; n++) told.push(await last.line())
    await owned.kill()
    told.push(...(await rest(last)))
    expect((await last.ended()).code).not.toBe(0)
    await owned.again()
    const store = place.store('f')
    await store.open()
    const keys = new Set((await store.runs({ limit: 100_000 })).map((each) => each.key))
    expect(told.length).toBeGreaterThanOrEqual(60)
    expect(told.filter((id) => !keys.has(id as string))).toEqual([])
    await store.close()
  })
})

async function rest(child: Child): Promise<unknown[]> {
  const lines: unknown[] = []
  for (let next = await child.lines.next(); !next.done; next = await child.lines.next()) {
    lines.push(JSON.parse(next.value as string))
  }
  return lines
}
