import { createHash, randomUUID } from 'node:crypto'
import { FleetcronError } from '../../errors.js'
import { Deadline, TooLate } from '../deadline.js'
import { unanswered, unusable } from '../unavailable.js'
import { isUnknownScript, type RedisConnection, whyUnavailable } from './driver.js'
import { FIXED_KEYS } from './scripts/shared.js'

/** A script with the name by which servers know it. */
export interface Script {
  readonly text: string
  readonly sha: string
}

export function script(text: string): Script {
  return { text, sha: createHash('sha1').update(text).digest('hex') }
}

export type Argument = string | number

/** What went wrong with a connection last: a command that was given up says no more than that. */
const lastErrors = new WeakMap<RedisConnection, unknown>()

/** Listens to a connection's errors, which would end the process otherwise. */
export function attended(connection: RedisConnection): RedisConnection {
  connection.on('error', (error: unknown) => lastErrors.set(connection, error))
  connection.on('node error', (error: unknown) => lastErrors.set(connection, error))
  connection.on('ready', () => lastErrors.delete(connection))
  return connection
}

/**
 * Calls of the ledger's scripts. Each is one message and one atomic act on the server. A call that is late is given up here
 * and may still be carried out there: every script recognises what comes twice or too late.
 */
export class Server {
  readonly place: string
  readonly callMs: number
  readonly #base: string
  readonly #fixed: readonly string[]
  #seen = 0
  #incarnation = ''
  #candidate = randomUUID()

  constructor(options: { readonly base: string; readonly place: string; readonly callMs: number }) {
    this.#base = options.base
    this.#fixed = FIXED_KEYS.map((key) => options.base + key)
    this.place = options.place
    this.callMs = options.callMs
  }

  get base(): string {
    return this.#base
  }

  /** What a script needs to notice that the ledger was lost or set back: writes seen, and the id of the next incarnation. */
  history(): readonly Argument[] {
    return [this.#seen, this.#candidate]
  }

  /** Keeps what an answer says of the ledger's history. */
  learn(incarnation: string, writes: number): void {
    if (incarnation !== this.#incarnation) this.#seen = 0
    this.#incarnation = incarnation
    this.#seen = Math.max(this.#seen, writes)
    if (incarnation === this.#candidate) this.#candidate = randomUUID()
  }

  /** Runs a script; `more` are the keys that it may use beside the fixed ones. */
  async run<T>(
    on: RedisConnection,
    { sha, text }: Script,
    args: readonly Argument[],
    more: readonly string[] = [],
    callMs = this.callMs,
  ): Promise<T> {
    const keys = more.length === 0 ? this.#fixed : [...this.#fixed, ...more.map((key) => this.#base + key)]
    return this.within(on, callMs, async () => {
      try {
        return (await on.call('evalsha', [sha, keys.length, ...keys, ...args])) as T
      } catch (error) {
        if (!isUnknownScript(error)) throw error
        return (await on.call('eval', [text, keys.length, ...keys, ...args])) as T
      }
    })
  }

  /** Waits no longer than this; a connection that fell silent is made anew. */
  async within<T>(on: RedisConnection, ms: number, act: () => Promise<T>): Promise<T> {
    const deadline = new Deadline(ms)
    try {
      return await deadline.race(act())
    } catch (error) {
      if (error instanceof TooLate && on.status === 'ready') on.disconnect(true)
      throw this.explained(error, lastErrors.get(on))
    } finally {
      deadline.end()
    }
  }

  /** An error in the words of the ledger. The driver's own holds the command, with passwords and data: it is not handed on. */
  explained(error: unknown, before?: unknown): unknown {
    if (error instanceof FleetcronError) return error
    if (error instanceof TooLate) {
      const why = before === undefined ? null : whyUnavailable(before)
      if (why !== null) return unusable(this.place, why)
      return unanswered(this.place, error.ms)
    }
    const own = whyUnavailable(error)
    const cause = new Error(error instanceof Error ? error.message : String(error))
    const why = own === CUT && before !== undefined ? (whyUnavailable(before) ?? own) : own
    if (why !== null) return unusable(this.place, why, cause)
    const what = `The ledger ${this.place} met an error of its own: ${cause.message}`
    return new FleetcronError('STORE_UNAVAILABLE', what, { cause })
  }
}

const CUT = 'the connection was cut'
