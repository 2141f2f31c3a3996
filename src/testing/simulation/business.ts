import type { AsyncAdapter, Failure, Param, QueryResult, Statements } from '../../effect/port.js'
import { EFFECT_TABLES } from '../../effect/tables.js'
import type { Timer } from '../../fleet/clock.js'
import type { VirtualClock, VirtualProcess } from '../clock.js'
import { Locks } from './locks.js'

/**
 * The business database of the simulation: the two tables of `effect` and one of invoices, kept in memory, with what
 * matters of a real one: transactions that are seen when they commit and not before, rows locked until then, a holder
 * that falls silent cut off, connections that break. It knows nothing of tokens; whether it is used well is judged by
 * the checkers, from the outside.
 */
export class BusinessDatabase {
  readonly fences = new Map<string, number>()
  readonly effects = new Map<string, EffectRow>()
  readonly invoices: Invoice[] = []
  /** While true nobody can connect. */
  away = false
  readonly #clock: VirtualClock
  readonly #options: BusinessOptions
  readonly #locks: Locks<BusinessTx>

  constructor(clock: VirtualClock, options: BusinessOptions) {
    this.#clock = clock
    this.#options = options
    this.#locks = new Locks(clock, LOCK_TIMEOUT_MS)
  }

  /** A connection of one process, as an adapter for `createEffects`. */
  adapter(process: VirtualProcess): AsyncAdapter<BusinessTx> {
    return {
      sync: false,
      dialect: 'postgres',
      statements: STATEMENTS,
      classify,
      inTransaction: (tx) => tx.open,
      transaction: (fn) => this.#transaction(process, fn),
      query: (tx, sql, params) =>
        sql === STATEMENTS.columns
          ? Promise.resolve(ALL_THERE)
          : this.#travel(process, tx, () => this.#execute(tx, sql, params)),
    }
  }

  /** The user's own statement inside an effect. */
  invoice(process: VirtualProcess, tx: BusinessTx, invoice: Invoice): Promise<void> {
    return this.#travel(process, tx, async () => {
      tx.invoices.push(invoice)
    })
  }

  async #transaction<R>(process: VirtualProcess, fn: (tx: BusinessTx) => Promise<R>): Promise<R> {
    const tx = new BusinessTx()
    if (this.away) {
      await this.#reply(process)
      throw new BusinessError('unavailable', 'the database is away')
    }
    this.#watch(tx)
    try {
      const result = await fn(tx)
      await this.#travel(process, tx, async () => this.#commit(tx))
      return result
    } catch (error) {
      this.#end(tx)
      throw error
    }
  }

  /** There and back. The database acts when the statement reaches it; the process learns it when the reply does. */
  #travel<R>(process: VirtualProcess, tx: BusinessTx, act: () => Promise<R>): Promise<R> {
    const { requestMs, replyLost } = this.#options.statement()
    return new Promise((resolve, reject) => {
      this.#after(requestMs, () => {
        tx.lastHeard = this.#clock.now
        if (!tx.open || this.away) {
          this.#end(tx)
          this.#reply(process).then(() => reject(new BusinessError('unavailable', 'the connection is closed')))
          return
        }
        act().then(
          (value) => {
            if (replyLost) this.#end(tx)
            const lost = new BusinessError('unavailable', 'the connection broke before the answer')
            this.#reply(process).then(() => (replyLost ? reject(lost) : resolve(value)))
          },
          (error) => {
            this.#end(tx)
            this.#reply(process).then(() => reject(error))
          },
        )
      })
    })
  }

  #reply(process: VirtualProcess): Promise<void> {
    const { requestMs } = this.#options.statement()
    if (requestMs === 0 && process.state === 'running') return Promise.resolve()
    return new Promise((resolve) => process.arrive(requestMs, resolve))
  }

  /** What takes no time needs no event. */
  #after(delayMs: number, fn: () => void): void {
    if (delayMs === 0) fn()
    else this.#clock.after(delayMs, fn)
  }

  async #execute(tx: BusinessTx, sql: string, params: readonly Param[]): Promise<QueryResult> {
    const [first, second, third] = params
    switch (sql) {
      case STATEMENTS.raiseFence: {
        const [resource, token] = [String(first), Number(second)]
        await this.#locks.take(tx, `fence ${resource}`, 'exclusive')
        if ((this.#fence(tx, resource) ?? -1) < token) tx.fences.set(resource, token)
        return NOTHING
      }
      case STATEMENTS.readFence: {
        const resource = String(first)
        // A row that does not exist cannot be locked.
        if (this.#fence(tx, resource) !== null) await this.#locks.take(tx, `fence ${resource}`, 'shared')
        const token = this.#fence(tx, resource)
        tx.fenced.add(resource)
        return { rows: token === null ? [] : [{ token }], affected: null }
      }
      case STATEMENTS.takeKey: {
        const [key, fingerprint, job, run, token, attempt, mark] = params
        await this.#locks.take(tx, `key ${key}`, 'exclusive')
        if (this.#effect(tx, String(key))) return NOTHING
        const by = { job: text(job), run: text(run), token: number(token), attempt: number(attempt) }
        tx.effects.set(String(key), { ...by, fingerprint: String(fingerprint), state: 'open', result: text(mark) })
        return { rows: [], affected: 1 }
      }
      // Both come after `take key`, which holds the lock already.
      case STATEMENTS.readKey:
      case STATEMENTS.lockKey: {
        const row = this.#effect(tx, String(first))
        return {
          rows: row ? [{ state: row.state, fingerprint: row.fingerprint, result: row.result }] : [],
          affected: null,
        }
      }
      case STATEMENTS.retakeKey: {
        const [fingerprint, job, run, token, attempt, mark, key] = params
        const by = { job: text(job), run: text(run), token: number(token), attempt: number(attempt) }
        tx.effects.set(String(key), { ...by, fingerprint: String(fingerprint), state: 'open', result: text(mark) })
        return NOTHING
      }
      case STATEMENTS.finishKey: {
        const row = this.#effect(tx, String(second))
        if (row?.result !== text(third)) return NOTHING
        tx.effects.set(String(second), { ...row, state: 'done', result: text(first) })
        return { rows: [], affected: 1 }
      }
      default:
        return NOTHING
    }
  }

  #commit(tx: BusinessTx): void {
    for (const [resource, token] of tx.fences) {
      this.fences.set(resource, token)
      this.#options.onRaised(resource, token)
    }
    for (const [key, row] of tx.effects) {
      this.effects.set(key, row)
      this.#options.onEffect({ key, row, resources: tx.fenced, invoices: tx.invoices })
    }
    this.invoices.push(...tx.invoices)
    this.#end(tx)
  }

  /** Cuts off a holder that falls silent: `idle_in_transaction_session_timeout`. */
  #watch(tx: BusinessTx): void {
    tx.lastHeard = this.#clock.now
    const look = () => {
      if (!tx.open) return
      const left = tx.lastHeard + this.#options.idleMs - this.#clock.now
      if (left > 0) tx.watch = this.#clock.after(left, look)
      else this.#end(tx)
    }
    tx.watch = this.#clock.after(this.#options.idleMs, look)
  }

  #end(tx: BusinessTx): void {
    if (!tx.open) return
    tx.open = false
    tx.watch?.cancel()
    this.#locks.release(tx)
  }

  #fence(tx: BusinessTx, resource: string): number | null {
    return tx.fences.get(resource) ?? this.fences.get(resource) ?? null
  }

  #effect(tx: BusinessTx, key: string): EffectRow | undefined {
    return tx.effects.get(key) ?? this.effects.get(key)
  }
}

export interface BusinessOptions {
  /** A holder silent for so long is cut off, milliseconds. */
  readonly idleMs: number
  /** What the next statement meets. */
  statement(): { readonly requestMs: number; readonly replyLost: boolean }
  onRaised(resource: string, token: number): void
  onEffect(effect: CommittedEffect): void
}

export interface EffectRow {
  readonly state: string
  readonly fingerprint: string
  readonly result: string | null
  readonly job: string | null
  readonly run: string | null
  readonly token: number | null
  readonly attempt: number | null
}

export interface CommittedEffect {
  readonly key: string
  readonly row: EffectRow
  /** What the transaction read the fence of. */
  readonly resources: ReadonlySet<string>
  readonly invoices: readonly Invoice[]
}

/** What a handler writes: no constraint keeps it from writing one twice, so that a second effect is seen. */
export interface Invoice {
  readonly key: string
  readonly attemptId: string
}

export class BusinessTx {
  open = true
  lastHeard = 0
  watch: Timer | null = null
  readonly fences = new Map<string, number>()
  readonly effects = new Map<string, EffectRow>()
  readonly invoices: Invoice[] = []
  readonly fenced = new Set<string>()
}

export class BusinessError extends Error {
  constructor(
    readonly failure: Failure,
    message: string,
  ) {
    super(message)
  }
}

const LOCK_TIMEOUT_MS = 1_000
const NOTHING: QueryResult = { rows: [], affected: 0 }
/** This database is born with its tables. */
const ALL_THERE: QueryResult = {
  rows: Object.entries(EFFECT_TABLES).flatMap(([name, columns]) =>
    columns.map((col, at) => ({ name, col, pk: at === 0 ? 1 : 0 })),
  ),
  affected: null,
}

/** Words in place of SQL: this database understands no other. */
const STATEMENTS: Statements = {
  tables: [],
  columns: 'columns',
  raiseFence: 'raise fence',
  readFence: 'read fence',
  takeKey: 'take key',
  readKey: 'read key',
  lockKey: 'lock key',
  retakeKey: 'retake key',
  finishKey: 'finish key',
  expired: '',
  prune: '',
  expiredFences: '',
  pruneFence: '',
  savepoint: null,
  calls: { intend: '', takeOver: '', read: '', sendAgain: '', settle: '', answer: '', audit: '', uncertain: '' },
}

function classify(error: unknown): Failure {
  return error instanceof BusinessError ? error.failure : 'other'
}

function text(param: Param | undefined): string | null {
  return param === null || param === undefined ? null : String(param)
}

function number(param: Param | undefined): number | null {
  return param === null || param === undefined ? null : Number(param)
}
