import { FleetcronError } from '../errors.js'

/**
 * How many nodes of this process have a store open. They come and go one after the other, so that two which open it at once
 * connect, and make its schema, once.
 */
export class Openings {
  #users = 0
  #last: Promise<unknown> = Promise.resolve()

  get isOpen(): boolean {
    return this.#users > 0
  }

  /** After whatever else was begun here has ended. */
  inTurn<T>(act: () => Promise<T>): Promise<T> {
    const result = this.#last.then(act, act)
    this.#last = result.catch(() => undefined)
    return result
  }

  /** Counts one more once `connect` has succeeded. */
  open<T>(connect: () => Promise<T>): Promise<T> {
    return this.inTurn(async () => {
      const info = await connect()
      this.#users += 1
      return info
    })
  }

  /** The last one to close disconnects. */
  close(disconnect: () => void | Promise<void>): Promise<void> {
    return this.inTurn(async () => {
      if (this.#users === 0) return
      this.#users -= 1
      if (this.#users === 0) await disconnect()
    })
  }

  /** @param place for people: where the ledger is */
  async whileOpen<T>(place: string, act: () => Promise<T>): Promise<T> {
    if (this.isOpen) return act()
    throw new FleetcronError('STORE_UNAVAILABLE', `The ledger ${place} is not open.`)
  }
}
