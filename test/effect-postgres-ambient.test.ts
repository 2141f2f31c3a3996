import 'reflect-metadata'
import { Inject, Injectable, Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { ClsPluginTransactional, Propagation, Transactional, TransactionHost } from '@nestjs-cls/transactional'
import { TransactionalAdapterTypeOrm } from '@nestjs-cls/transactional-adapter-typeorm'
import { ClsModule } from 'nestjs-cls'
import { DataSource, type EntityManager } from 'typeorm'
import {
  addTransactionalDataSource,
  initializeTransactionalContext,
  runInTransaction,
  StorageDriver,
} from 'typeorm-transactional'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Effects } from '../src/effect/port.js'
import { typeorm } from '../src/effect/typeorm/index.js'
import type { Fleet } from '../src/fleet/fleet.js'
import { Cron, FleetModule, InjectEffects, InjectFleet, type Run } from '../src/nest/index.js'
import { PostgresBusiness } from './effect/postgres-business.js'
import { NEVER, resultOf } from './nest/stand.js'
import { sharedServer } from './servers/index.js'

type Tx = EntityManager
const DATA_SOURCE = Symbol('the data source')
const noteIn = async (tx: Tx, text: string) => {
  await tx.query('INSERT INTO note (text) VALUES ($1)', [text])
  return text
}
const never = () => {
  throw new Error('called')
}

let business: PostgresBusiness
let source: DataSource
const notes = async () =>
  (await business.rows<{ text: string }>('SELECT text FROM note ORDER BY text')).map((row) => row.text)

beforeAll(async () => {
  business = await PostgresBusiness.make((await sharedServer('postgres')).url)
  source = await new DataSource({ type: 'postgres', url: business.url, extra: { max: 4 } }).initialize()
  await typeorm(source).ensure()
  await business.rows('CREATE TABLE note (text TEXT UNIQUE)')
})
afterAll(async () => {
  await source.destroy()
  await business.close()
})

describe('inside the transaction of nestjs-cls', () => {
  @Injectable()
  class Desk {
    constructor(
      @Inject(TransactionHost) private readonly host: TransactionHost<TransactionalAdapterTypeOrm>,
      @InjectEffects() readonly effects: Effects<Tx>,
      @InjectFleet() readonly fleet: Fleet,
    ) {}

    /** Writes, makes an effect with its own service, and ends as it is told. */
    @Transactional()
    async book(name: string, then: () => unknown = () => undefined) {
      await noteIn(this.host.tx as Tx, `${name}: own`)
      const made = await this.effects.once(name, () => noteIn(this.host.tx as Tx, `${name}: effect`))
      await then()
      return made
    }

    @Transactional(Propagation.RequiresNew)
    async apart(name: string) {
      return this.effects.once(name, () => noteIn(this.host.tx as Tx, name))
    }

    @Transactional()
    async several(names: readonly string[]) {
      return Promise.all(names.map((name) => this.effects.once(name, (tx) => noteIn(tx, name))))
    }

    @Transactional()
    async charge(key: string, send: () => unknown, then: () => unknown) {
      await this.effects.call(key, { send })
      then()
    }

    @Cron(NEVER, { name: 'nightly' })
    async nightly(run: Run) {
      return this.bill(run)
    }

    @Transactional()
    async bill(run: Run) {
      await noteIn(this.host.tx as Tx, `nightly ${run.attempt}: own`)
      return run.once('invoice:42', (tx) => noteIn(tx as Tx, 'invoice of the night'))
    }
  }

  let desk: Desk
  let close: () => Promise<void>
  beforeAll(async () => {
    const adapter = new TransactionalAdapterTypeOrm({ dataSourceToken: DATA_SOURCE })
    @Module({ providers: [{ provide: DATA_SOURCE, useFactory: () => source }], exports: [DATA_SOURCE] })
    class Database {}
    @Module({
      imports: [
        ClsModule.forRoot({ plugins: [new ClsPluginTransactional({ imports: [Database], adapter })] }),
        FleetModule.forRootAsync({
          inject: [TransactionHost],
          useFactory: (host: TransactionHost<TransactionalAdapterTypeOrm>) => ({
            fleet: 'billing',
            store: 'memory:',
            logger: false,
            effects: typeorm(source, { ambient: () => (host.isTransactionActive() ? (host.tx as Tx) : null) }),
          }),
        }),
      ],
      providers: [Desk],
    })
    class AppModule {}
    const app = await NestFactory.createApplicationContext(AppModule, { logger: false, abortOnError: false })
    await app.init()
    desk = app.get(Desk)
    close = () => app.close()
  })
  afterAll(() => close())

  test('an effect joins it: both count, or neither', async () => {
    const thrown = new Error('the user rolls back')
    const rollBack = () => {
      throw thrown
    }
    await expect(desk.book('a', rollBack)).rejects.toBe(thrown)
    expect(await notes()).toEqual([])
    expect(await desk.book('a')).toBe('a: effect')
    expect(await desk.effects.once('a', never)).toBe('a: effect')
    expect(await notes()).toEqual(['a: effect', 'a: own'])
  })

  test('several effects of it take turns', async () => {
    const names = Array.from({ length: 20 }, (_, i) => `several ${10 + i}`)
    expect(await desk.several(names)).toEqual(names)
    expect(await desk.several(names)).toEqual(names)
  })

  test('an effect outside has a transaction of its own, and one begun inside that is refused', async () => {
    expect(await desk.effects.once('alone', (tx) => noteIn(tx, 'alone'))).toBe('alone')
    const nested = desk.effects.once('outer', async (tx) => {
      await noteIn(tx, 'outer')
      return desk.apart('inner')
    })
    await expect(nested).rejects.toMatchObject({ code: 'EFFECT_NESTED', message: expect.stringContaining("'outer'") })
    expect((await notes()).filter((text) => /outer|inner/.test(text))).toEqual([])
  })

  test('a call of a provider keeps its intent and its answer whatever becomes of it', async () => {
    let sent = 0
    const send = () => ++sent
    const rollBack = () => {
      throw new Error('the user rolls back')
    }
    await expect(desk.charge('charge:1', send, rollBack)).rejects.toThrow('rolls back')
    expect(await business.rows(`SELECT state FROM fleetcron_effect WHERE key = 'charge:1'`)).toEqual([
      { state: 'confirmed' },
    ])
    await desk.charge('charge:1', send, () => undefined)
    expect(sent).toBe(1)
  })

  test('the button, through @InjectEffects(), and the nightly job share a key', async () => {
    expect(await resultOf(desk.fleet, 'nightly')).toBe('invoice of the night')
    const pressed = await desk.effects.once('invoice:42', (tx) => noteIn(tx, 'invoice of the button'))
    expect(pressed).toBe('invoice of the night')
    expect(await desk.fleet.effects.once('invoice:42', never)).toBe('invoice of the night')
    expect((await notes()).filter((text) => /invoice|nightly/.test(text))).toEqual([
      'invoice of the night',
      'nightly 1: own',
    ])
  })
})

describe('inside the transaction of typeorm-transactional', () => {
  let own: DataSource
  let effects: Effects<Tx>
  beforeAll(async () => {
    initializeTransactionalContext({ storageDriver: StorageDriver.ASYNC_LOCAL_STORAGE })
    const unpatched = new DataSource({ type: 'postgres', url: business.url, extra: { max: 4 } })
    own = addTransactionalDataSource(await unpatched.initialize())
    const active = (manager: Tx) => (manager.queryRunner?.isTransactionActive ? manager : null)
    effects = typeorm(own, { ambient: () => active(own.manager) })
  })
  afterAll(() => own.destroy())

  test('an effect joins it: both count, or neither', async () => {
    const book = (then: () => void) =>
      runInTransaction(async () => {
        await own.query('INSERT INTO note (text) VALUES ($1)', ['t: own'])
        const made = await effects.once('t', (tx) => noteIn(tx, 't: effect'))
        then()
        return made
      })
    const thrown = new Error('the user rolls back')
    const rolledBack = book(() => {
      throw thrown
    })
    await expect(rolledBack).rejects.toBe(thrown)
    expect((await notes()).filter((text) => text.startsWith('t: '))).toEqual([])
    expect(await book(() => undefined)).toBe('t: effect')
    expect(await effects.once('t', never)).toBe('t: effect')
    expect((await notes()).filter((text) => text.startsWith('t: '))).toEqual(['t: effect', 't: own'])
  })

  test('a fence is raised, and an intent kept, outside of it', async () => {
    const rolledBack = runInTransaction(async () => {
      await effects.raise('r', 7)
      await effects.call('t:charge', { send: () => 1 })
      throw new Error('the user rolls back')
    })
    await expect(rolledBack).rejects.toThrow('rolls back')
    expect(await effects.raise('r', 6)).toEqual({ raised: false, token: 7 })
    const send = never
    expect(await effects.call('t:charge', { send })).toBe(1)
  })

  test('an effect begun inside an effect that has a transaction of its own is refused', async () => {
    const nested = effects.once('t:outer', () => runInTransaction(() => effects.once('t:inner', never)))
    await expect(nested).rejects.toMatchObject({ code: 'EFFECT_NESTED' })
  })
})
