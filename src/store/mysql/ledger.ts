import type { Line } from './line.js'
import type { Server } from './server.js'

/** What every method works with: the pool, the connection of the beats, and the fleet whose rows it sees. */
export interface Ledger {
  readonly server: Server
  readonly line: Line
  readonly fleet: string
  readonly identity: Identity
  /** Bytes that one message may have; a larger one would end the connection. */
  packetBytes: number
}

/** Which store this is, as far as this process has seen. */
export class Identity {
  /** When the table with the word was made: a dump that is read back has another instant. */
  #madeAt = ''
  /** How often a session was found with fewer beats than it had sent: the store was set back by a backup or a failover. */
  #setBacks = 0
  readonly #beats = new Map<string, number>()

  sawMade(at: string): void {
    this.#madeAt = at
  }

  /** Counts the beats of a session that this process sent; the store counts them too. */
  sawBeats(session: string, count: number): void {
    const before = this.#beats.get(session)
    if (before !== undefined && count <= before) this.#setBacks++
    this.#beats.set(session, count)
  }

  forget(session: string): void {
    this.#beats.delete(session)
  }

  /** The incarnation, by the word that was drawn with the schema. */
  of(word: string): string {
    return [word, this.#madeAt, ...(this.#setBacks > 0 ? [`set back ${this.#setBacks}`] : [])].join('.')
  }
}
