import type { Change } from '../../ledger/types.js'
import { judge, repeated } from '../guards.js'
import type { CommitResult, Committed, SessionRef } from '../port.js'
import { foundOf } from './commit-found.js'
import { type Item, jobsOf, messageOf } from './commit-message.js'
import { rowsOf } from './commit-rows.js'
import { COMMIT_FREE } from './commit-statements.js'
import { causeOf, isDuplicate, isGuard, isOverdue, isPassing, isStatementsOwn } from './driver.js'
import type { Ledger } from './ledger.js'
import { DataError, name, nameKey } from './literal.js'
import { columnKeyAt, integerAt } from './rows.js'

export async function commit(
  ledger: Ledger,
  session: SessionRef,
  read: number,
  changes: readonly Change[],
): Promise<Committed> {
  return new Batch(ledger, session, read).commit(changes)
}

/** How often changes that lost a race which is no conflict of versions are tried. */
const TRIES = 4

/** A version is a word that somebody drew: its column has room for so many bytes. */
const VERSION_BYTES = 4_096

class Batch {
  readonly #ledger: Ledger
  readonly #session: SessionRef
  readonly #read: number
  readonly #results: CommitResult[] = []
  #now: number | null = null
  #isExpired = false

  constructor(ledger: Ledger, session: SessionRef, read: number) {
    this.#ledger = ledger
    this.#session = session
    this.#read = read
  }

  async commit(changes: readonly Change[]): Promise<Committed> {
    const sound = changes.flatMap((change, place) => this.#sound(change, place))
    for (const part of inParts(sound, this.#ledger.packetBytes)) await this.#write(part, 1)
    if (this.#now === null) await this.#judged([])
    const now = this.#now ?? this.#read
    return this.#isExpired ? { expired: true, now } : { expired: false, now, results: this.#results }
  }

  /** Its rows, or what is wrong with it before it is sent. */
  #sound(change: Change, place: number): Item[] {
    const twice = repeated(change)
    if (twice !== null) return this.#refuse(change, place, `The change names ${twice} twice.`)
    if (Buffer.byteLength(change.id) > VERSION_BYTES)
      return this.#refuse(change, place, 'The id of the change is too long.')
    try {
      const rows = rowsOf(name(this.#ledger.fleet), change)
      if (rows.bytes <= this.#ledger.packetBytes) return [{ change, rows, place }]
      const why = `The change has ${rows.bytes} bytes, more than the server takes at once (max_allowed_packet).`
      return this.#refuse(change, place, why)
    } catch (error) {
      if (error instanceof DataError) return this.#refuse(change, place, error.message)
      throw error
    }
  }

  #refuse({ job }: Change, place: number, why: string): [] {
    this.#results[place] = { job, outcome: 'refused', why }
    return []
  }

  /** Writes changes in one transaction, or, where that cannot be, those that can. */
  async #write(items: readonly Item[], tries: number): Promise<void> {
    const [only] = items
    if (only === undefined) return
    // What was written before an expiry stays written: the rest has lost, as it would have one by one.
    if (this.#isExpired) return this.#lose(items)
    const message = messageOf(this.#ledger, this.#session, this.#deadline, items)
    try {
      const { rows } = await this.#ledger.server.retried(() => this.#ledger.server.tryWrite(message))
      this.#now ??= integerAt(rows.at(-1)?.[0] ?? [], 0)
      for (const { change, place } of items) this.#results[place] = { job: change.job, outcome: 'won' }
    } catch (error) {
      const cause = causeOf(error)
      if (isOverdue(cause)) return this.#writeFree(items)
      if (isGuard(cause) || isDuplicate(cause)) return this.#writeSound(items, tries)
      if (!isStatementsOwn(cause) || isPassing(cause)) throw error
      if (items.length === 1) this.#refuse(only.change, only.place, String((cause as Error).message))
      else await this.#halve(items)
    }
  }

  async #halve(items: readonly Item[]): Promise<void> {
    const middle = Math.ceil(items.length / 2)
    await this.#write(items.slice(0, middle), 1)
    await this.#write(items.slice(middle), 1)
  }

  /** Somebody holds one of the jobs for longer than is waited: it is stale, and the others are written. */
  async #writeFree(items: readonly Item[]): Promise<void> {
    const { server, fleet } = this.#ledger
    const { rows } = await server.write([server.sql(COMMIT_FREE, { fleet: name(fleet), jobs: jobsOf(items) })])
    const free = new Set((rows[0] ?? []).map((row) => columnKeyAt(row, 0)))
    const isFree = ({ change, rows: { isNew } }: Item) => isNew || free.has(nameKey(change.job))
    this.#lose(items.filter((item) => !isFree(item)))
    const left = items.filter(isFree)
    // All of them are free: the lock was let go meanwhile, and may be taken again.
    if (left.length === items.length && left.length > 1) await this.#halve(left)
    else await this.#write(left, 1)
  }

  /** A guard did not hold: each change is held against the rows, and what is left is tried again. */
  async #writeSound(items: readonly Item[], tries: number): Promise<void> {
    const left = await this.#judged(items)
    if (left.length === 0 || this.#isExpired) return
    if (left.length < items.length || tries < TRIES) await this.#write(left, left.length < items.length ? 1 : tries + 1)
    else if (left.length > 1) await this.#halve(left)
    else this.#lose(left)
  }

  /** Says what has become of changes that may not be applied; gives the others. */
  async #judged(items: readonly Item[]): Promise<Item[]> {
    const found = await foundOf(
      this.#ledger,
      this.#session,
      items.map((item) => item.change),
    )
    const { self } = found
    const isFirst = this.#now === null
    this.#now ??= self.now
    if (!self.alive || self.now > this.#deadline) {
      if (isFirst) this.#isExpired = true
      this.#lose(items)
      return []
    }
    return items.flatMap((item) => {
      const result = judge(item.change, found.of(item.change))
      if (result !== null) this.#results[item.place] = result
      // Its definition is known: it need not be the one in force any more.
      return result === null ? { ...item, rows: rowsOf(name(this.#ledger.fleet), item.change, true) } : []
    })
  }

  #lose(items: readonly Item[]): void {
    for (const { change, place } of items) this.#results[place] = { job: change.job, outcome: 'stale' }
  }

  get #deadline(): number {
    return Math.floor(this.#read + this.#session.leaseMs / 10)
  }
}

/** In the order of the jobs' names; a job that is changed more than once is so in one part after the other. */
function inParts(items: readonly Item[], most: number): Item[][] {
  const parts: Item[][] = []
  const times = new Map<string, number>()
  for (const item of items) {
    const time = times.get(item.change.job) ?? 0
    times.set(item.change.job, time + 1)
    const part = parts[time] ?? []
    parts[time] = part
    part.push(item)
  }
  const key = ({ change }: Item) => nameKey(change.job)
  return parts.flatMap((part) =>
    bySize(
      part.sort((a, b) => (key(a) < key(b) ? -1 : 1)),
      most,
    ),
  )
}

/** No message is larger than the server takes. */
function bySize(items: readonly Item[], most: number): Item[][] {
  const parts: Item[][] = []
  let room = 0
  for (const item of items) {
    if (item.rows.bytes > room) {
      parts.push([])
      room = most
    }
    parts.at(-1)?.push(item)
    room -= item.rows.bytes
  }
  return parts
}
