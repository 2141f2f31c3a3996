import type { Change } from '../../ledger/types.js'
import { committedWakeAt, isEarlier, NO_TALLY, repeated } from '../guards.js'
import type { CommitResult, Committed, SessionRef } from '../port.js'
import { type ChangeRows, changeArguments, holdsNul, rowsOf } from './commit-arguments.js'
import type { Ledger } from './ledger.js'
import { compareBytes } from './order.js'

interface Answer {
  readonly now: number
  readonly expired: boolean
  /** Nothing was written, since all together cannot be; the database's words, or empty where it was a race. */
  readonly again?: string
  /** By place in the list; null: written. */
  readonly fates?: readonly ('won' | 'stale' | 'clash' | 'refused' | null)[] | null
  /** The keys of a clash in JSON, or the sentence of a refusal. */
  readonly whys?: readonly (string | null)[] | null
  /** Places, from 1, of the jobs that existed, and what stood in their rows. */
  readonly at?: readonly number[] | null
  readonly wakes?: readonly (number | null)[] | null
  readonly settled?: readonly number[] | null
}

/** A change of a batch, and its place in it. */
interface Item {
  readonly change: Change
  readonly rows: ChangeRows
  readonly place: number
}

export async function commit(
  ledger: Ledger,
  session: SessionRef,
  read: number,
  changes: readonly Change[],
): Promise<Committed> {
  const batch = new Batch(ledger, session, read)
  return batch.commit(changes)
}

/** How often one change that lost a race which is no conflict of versions is tried. */
const TRIES = 3

class Batch {
  readonly #ledger: Ledger
  readonly #session: SessionRef
  readonly #read: number
  readonly #results: CommitResult[] = []
  #first: Answer | null = null

  constructor(ledger: Ledger, session: SessionRef, read: number) {
    this.#ledger = ledger
    this.#session = session
    this.#read = read
  }

  async commit(changes: readonly Change[]): Promise<Committed> {
    const sound: Item[] = []
    for (const [place, change] of changes.entries()) {
      const rows = rowsOf(change)
      const why = oddity(change, rows)
      if (why === null) sound.push({ change, rows, place })
      else this.#results[place] = { job: change.job, outcome: 'refused', why }
    }
    for (const part of inParts(sound)) await this.#write(part, 1)
    const { now, expired } = this.#first ?? { now: this.#read, expired: false }
    return expired ? { expired, now } : { expired: false, now, results: this.#results }
  }

  /** Writes a list in one statement, or, where that cannot be, in halves until the culprit is alone. */
  async #write(items: readonly Item[], tries: number): Promise<void> {
    const { server, fleet, gate } = this.#ledger
    const answer = await server.call<Answer>('commit', {
      p_fleet: fleet,
      p_gate: String(gate),
      p_session: this.#session.id,
      p_read: this.#read,
      p_lease: this.#session.leaseMs,
      ...changeArguments(items.map((item) => item.rows)),
    })
    this.#first ??= answer
    const [only] = items
    if (answer.expired) {
      // What was written before stays written: the rest has lost, as it would have one by one.
      for (const item of items) this.#set(item, 'stale')
    } else if (answer.again === undefined) {
      this.#take(items, answer)
    } else if (items.length > 1) {
      const middle = Math.ceil(items.length / 2)
      await this.#write(items.slice(0, middle), 1)
      await this.#write(items.slice(middle), 1)
    } else if (only) {
      if (answer.again !== '')
        this.#results[only.place] = { job: only.change.job, outcome: 'refused', why: answer.again }
      else if (tries < TRIES) await this.#write(items, tries + 1)
      else this.#set(only, 'stale')
    }
  }

  #take(items: readonly Item[], { now, fates, whys, at, wakes, settled }: Answer): void {
    const before = new Map(
      (at ?? []).map((place, i) => [place, { wakeAt: wakes?.[i] ?? null, settled: settled?.[i] ?? 0 }]),
    )
    const woken = new Set<number>()
    for (const [index, item] of items.entries()) {
      const { change } = item
      const fate = fates?.[index] ?? null
      const why = whys?.[index] ?? ''
      if (fate === null) {
        const row = before.get(index + 1)
        const wakeAt = committedWakeAt(change, { ...NO_TALLY, settled: row?.settled ?? 0 }, now)
        if (isEarlier(wakeAt, row?.wakeAt ?? null)) woken.add(change.header.bucket)
      }
      if (fate === 'clash') {
        this.#results[item.place] = { job: change.job, outcome: fate, keys: JSON.parse(why) as string[] }
      } else if (fate === 'refused') this.#results[item.place] = { job: change.job, outcome: fate, why }
      else this.#set(item, fate ?? 'won')
    }
    this.#ledger.line.tell([...woken])
  }

  #set({ change, place }: Item, outcome: 'won' | 'stale'): void {
    this.#results[place] = { job: change.job, outcome }
  }
}

/** In the order in which rows are locked; a job that is changed more than once is so in one part after the other. */
function inParts(items: readonly Item[]): Item[][] {
  const parts: Item[][] = [[]]
  const times = new Map<string, number>()
  for (const item of items) {
    const time = times.get(item.change.job) ?? 0
    times.set(item.change.job, time + 1)
    const part = parts[time] ?? []
    parts[time] = part
    part.push(item)
  }
  return parts.map((part) => part.sort((a, b) => compareBytes(a.change.job, b.change.job)))
}

/** What no statement is to see. */
function oddity(change: Change, rows: ChangeRows): string | null {
  const twice = repeated(change)
  if (twice !== null) return `The change names ${twice} twice.`
  return holdsNul(rows) ? 'A text has a NUL in it, which Postgres cannot keep.' : null
}
