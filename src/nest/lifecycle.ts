import { Inject, Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common'
import type { Fleet } from '../fleet/fleet.js'
import type { ResolvedModule } from './options.js'
import { Pokers } from './pokers.js'
import { FleetSetup } from './setup.js'
import { MODULE, REAL_FLEET } from './tokens.js'

/** When somebody who calls `enableShutdownHooks()` after making the application has done so. */
const HOOKS_MS = 1_000

const SIGNALS = ['SIGTERM', 'SIGINT'] as const

/**
 * Ties a fleet's life to the application's: the loop starts when the whole application is up, and runs drain before
 * anything that handlers use is taken away.
 *
 * Nest destroys a module before those it is farther from the root than, global ones last: a handler's database may well
 * close before a fleet that stands beside it. So this module moves itself in front of the root (module.ts): last up, first
 * down.
 */
@Injectable()
export class FleetLifecycle implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger('Fleetcron')
  private hooksCheck: NodeJS.Timeout | null = null
  private readonly terminate = (signal: NodeJS.Signals) => void this.drainAndEnd(signal)
  private readonly hear = (message: unknown) => {
    if (message === 'shutdown') this.terminate('SIGTERM')
  }

  constructor(
    @Inject(MODULE) private readonly options: ResolvedModule,
    @Inject(REAL_FLEET) private readonly fleet: Fleet,
    @Inject(FleetSetup) private readonly setup: FleetSetup,
    @Inject(Pokers) private readonly pokers: Pokers,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    if (this.options.fleet === null) return
    if (this.options.shutdown === 'sigterm') this.listen()
    await this.start()
    this.setup.applicationIsUp()
    this.pokers.open()
    // Whoever has no application yet cannot have enabled its hooks: what the start takes does not count.
    if (this.options.shutdown === 'hooks' && !this.options.isSolo) {
      this.hooksCheck = setTimeout(() => this.checkHooks(), HOOKS_MS).unref()
    }
  }

  async onModuleDestroy(): Promise<void> {
    if (this.options.fleet === null) return
    if (this.hooksCheck !== null) clearTimeout(this.hooksCheck)
    this.deafen()
    this.setup.timers.clear()
    await this.fleet.stop({ grace: this.options.drainMs })
    await this.pokers.close()
  }

  /** A store that is away keeps the application from starting only where the options say so. */
  private async start(): Promise<void> {
    const started = this.setup.start()
    const away = this.setup.storeIsAway()
    const first = await Promise.race([started, away])
    if (first === undefined) return
    if (this.options.startup === 'fail') {
      started.catch(() => undefined)
      await this.fleet.stop()
      throw first
    }
    this.logger.warn(`${first.message} The application starts without its jobs; health tells.`)
    started.catch((error) => this.logger.error(`the fleet could not start: ${String(error)}`))
  }

  private checkHooks(): void {
    if (process.listenerCount('SIGTERM') > 0) return
    this.logger.warn(
      'nothing listens for SIGTERM: a deploy ends handlers in the middle. Call app.enableShutdownHooks(), or write ' +
        "shutdown: 'sigterm' in the module's options.",
    )
  }

  /** PM2 asks by SIGINT, or by a message where signals cannot be caught; whoever asks twice does not want to wait. */
  private listen(): void {
    for (const signal of SIGNALS) process.once(signal, this.terminate)
    if (process.send !== undefined) process.on('message', this.hear)
  }

  private deafen(): void {
    for (const signal of SIGNALS) process.off(signal, this.terminate)
    process.off('message', this.hear)
  }

  /** Ends the process as if nobody had listened, once the handlers have ended. */
  private async drainAndEnd(signal: NodeJS.Signals): Promise<void> {
    this.deafen()
    this.setup.timers.clear()
    await this.fleet.stop({ grace: this.options.drainMs })
    await this.pokers.close()
    if (process.listenerCount(signal) === 0) process.kill(process.pid, signal)
  }
}
