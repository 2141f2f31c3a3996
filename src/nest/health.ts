import { Inject, Injectable } from '@nestjs/common'
import type { Fleet } from '../fleet/fleet.js'
import type { ResolvedModule } from './options.js'
import { MODULE, REAL_FLEET } from './tokens.js'

/** What @nestjs/terminus takes for a result. */
export type FleetHealthResult<Key extends string = string> = Record<
  Key,
  { readonly status: 'up' | 'down'; readonly [detail: string]: unknown }
>

/**
 * Tells @nestjs/terminus whether this node looks after its jobs.
 *
 * @example
 * `@HealthCheck() @Get() check() { return this.health.check([() => this.fleet.isHealthy('fleet')]) }`
 */
@Injectable()
export class FleetHealthIndicator {
  constructor(
    @Inject(MODULE) private readonly options: ResolvedModule,
    @Inject(REAL_FLEET) private readonly fleet: Fleet,
  ) {}

  /**
   * Up: started, not stopping, and the store answers. `since` is when the store was last seen to be gone (ISO time), `runs`
   * how many handlers run here, `abandoned` how many do so without obeying their signal.
   */
  async isHealthy<Key extends string = 'fleet'>(key: Key = 'fleet' as Key): Promise<FleetHealthResult<Key>> {
    if (this.options.isLocal) return result(key, { status: 'up', mode: 'local' })
    const health = this.fleet.health()
    if (health === null) return result(key, { status: 'down', state: 'starting', runs: 0 })
    const { ready, state, store, running, abandoned } = health
    const away =
      store.awayMs === null ? {} : { since: new Date(Date.now() - store.awayMs).toISOString(), error: store.error }
    return result(key, {
      status: ready ? 'up' : 'down',
      state,
      runs: running.length,
      abandoned: abandoned.length,
      ...away,
    })
  }
}

function result<Key extends string>(key: Key, details: FleetHealthResult[string]): FleetHealthResult<Key> {
  return { [key]: details } as FleetHealthResult<Key>
}
