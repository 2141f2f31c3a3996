import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnModuleInit,
} from '@nestjs/common'
import { DiscoveryService, ModuleRef, ModulesContainer } from '@nestjs/core'
import { SchedulerRegistry } from '@nestjs/schedule'
import type { Effects } from '../effect/port.js'
import { FleetcronError } from '../errors.js'
import { onlyJob, setBoot } from '../fleet/boot.js'
import type { Fleet } from '../fleet/fleet.js'
import { Declarer } from './declarer.js'
import { findDeclared } from './explorer.js'
import { checkForeign } from './foreign.js'
import { findHandlers } from './handler.decorator.js'
import type { ResolvedModule } from './options.js'
import { Timers } from './timers.js'
import { MODULE, REAL_FLEET } from './tokens.js'

/**
 * Finds the application's jobs. It stands in a global module, whose hooks come before those of all others: from the first
 * `onModuleInit` on the fleet knows its jobs, and the registry shows them. In local mode it does what @nestjs/schedule's
 * explorer and orchestrator do, in the same hooks.
 */
@Injectable()
export class FleetSetup implements OnModuleInit, OnApplicationBootstrap, BeforeApplicationShutdown {
  readonly timers: Timers
  private readonly logger = new Logger('Fleetcron')
  private readonly declarer: Declarer
  private starting: Promise<void> | null = null
  private started = false
  private declared = false

  constructor(
    @Inject(MODULE) private readonly options: ResolvedModule,
    @Inject(REAL_FLEET) private readonly fleet: Fleet,
    @Inject(SchedulerRegistry) registry: SchedulerRegistry,
    @Inject(DiscoveryService) private readonly discovery: DiscoveryService,
    @Inject(ModuleRef) moduleRef: ModuleRef,
    @Inject(ModulesContainer) private readonly modules: ModulesContainer,
  ) {
    // A command that comes early starts the fleet; the application starts for a while yet.
    setBoot(fleet, { goesOn: true })
    this.timers = new Timers(registry, moduleRef, options)
    this.declarer = new Declarer(options, fleet, registry, moduleRef, this.timers, this.logger)
  }

  onModuleInit(): void {
    const { kinds } = this.options
    const foreign = checkForeign(this.discovery, this.modules)
    const found = findDeclared(this.discovery).filter(({ declaration }) => kinds[declaration.timing.kind])
    this.declarer.declareAll(found, foreign)
    const handlers = findHandlers(this.discovery)
    if (!this.options.isLocal) this.declarer.declareHandlers(handlers)
    else if (handlers.length > 0) {
      const places = handlers.map(({ place }) => place).join(', ')
      this.logger.warn(
        `${places}: schedules kept in the store need a fleet, and none is named: nothing calls these handlers`,
      )
    }
    this.declared = true
  }

  onApplicationBootstrap(): void | Promise<void> {
    const { fleet, effects } = this.options
    if (fleet !== null) return
    if (effects === null) this.timers.mount()
    else return this.mountWith(effects)
  }

  beforeApplicationShutdown(): void {
    this.timers.clear()
  }

  /** Starts the fleet, once. */
  start(): Promise<void> {
    if (!this.declared) return Promise.reject(this.tooEarly())
    this.starting ??= this.fleet.start().then(() => {
      this.started = true
    })
    return this.starting
  }

  /**
   * What a command waits for. One that comes before the application is up starts the fleet; handlers wait until it is up.
   *
   * @throws FleetcronError `NOT_STARTED` while injection goes on; `STORE_UNAVAILABLE`
   */
  async ready(): Promise<void> {
    if (this.started) return
    const awake = this.storeIsAway()
    await Promise.race([
      this.start(),
      awake.then((error) => {
        throw error
      }),
    ])
  }

  /** Resolves when the store cannot be reached at start. */
  async storeIsAway(): Promise<FleetcronError> {
    const { store } = this.fleet.health() ?? {}
    const error = store?.awayMs != null ? store.error : String((await this.fleet.once('store-away')).error)
    const message = `The store of fleet '${this.fleet.name}' cannot be reached: ${error}. It is tried again and again; ask later.`
    return new FleetcronError('STORE_UNAVAILABLE', message)
  }

  /** The application is up: handlers may be called. */
  applicationIsUp(): void {
    setBoot(this.fleet, { goesOn: false })
    this.declarer.letHandlersGo()
    // A process that is there for one job of the fleet leaves what runs on every node to the nodes.
    if (onlyJob(this.fleet) === null) this.timers.mount()
  }

  /** Runs of timers have effects: the tables are made first. A database that is away keeps nobody from starting. */
  private async mountWith(effects: Effects): Promise<void> {
    await effects.ensure().catch((error) => {
      this.logger.error(`the tables of effects cannot be made: ${String(error)}`)
    })
    this.timers.mount()
  }

  private tooEarly(): FleetcronError {
    const message =
      `Fleet '${this.fleet.name}' does not know its jobs while the application is put together: ask it from ` +
      'onModuleInit() on, not in a constructor or a factory.'
    return new FleetcronError('NOT_STARTED', message)
  }
}
