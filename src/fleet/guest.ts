import { FleetcronError } from '../errors.js'
import type { FleetNode } from './node.js'

/** Speaks for a fleet before its own node has started; it runs nothing. */
export class Guest {
  private made: { readonly node: FleetNode; readonly ready: Promise<void> } | null = null

  constructor(
    private readonly fleet: string,
    private readonly make: () => Promise<FleetNode>,
  ) {}

  /**
   * The guest, when it can speak. An application that starts does not wait for a store that is away.
   * @throws FleetcronError `STORE_UNAVAILABLE`
   */
  async speak(): Promise<FleetNode> {
    if (this.made === null) {
      const node = await this.make()
      this.made ??= { node, ready: node.start() }
      this.made.ready.catch(() => undefined)
    }
    const { node, ready } = this.made
    const isAway = node.health().store.awayMs !== null
    const away = isAway ? Promise.resolve() : node.events.once('store-away')
    const first = await Promise.race([ready.then(() => 'ready'), away.then(() => 'away')])
    if (first === 'ready') return node
    const message = `The store of fleet '${this.fleet}' cannot be reached: ${node.health().store.error}. It is tried again and again; ask later.`
    throw new FleetcronError('STORE_UNAVAILABLE', message)
  }

  async stop(): Promise<void> {
    await this.made?.node.stop()
  }
}
