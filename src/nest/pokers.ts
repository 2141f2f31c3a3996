import { Inject, Injectable, Logger } from '@nestjs/common'
import { onlyJob } from '../fleet/boot.js'
import type { Fleet } from '../fleet/fleet.js'
import { optionInvalid } from '../fleet/option-values.js'
import type { ResolvedModule } from './options.js'
import { MODULE, REAL_FLEET } from './tokens.js'

/** A door that says when jobs start, such as what `bullmqDoor()` of fleetcron/bullmq gives. */
export interface Poker {
  start(): Promise<void>
  close(): Promise<void>
}

/** Opens what pokes the fleet's jobs once the application is up, and closes it when the fleet has drained. */
@Injectable()
export class Pokers {
  private readonly logger = new Logger('Fleetcron')
  private opened: readonly Poker[] = []

  constructor(
    @Inject(MODULE) private readonly options: ResolvedModule,
    @Inject(REAL_FLEET) private readonly fleet: Fleet,
  ) {}

  /**
   * The application does not wait for it: jobs start without pokes too. A fleet that is a test's, and a process that a platform
   * has started for one job, are poked by nobody.
   *
   * @throws FleetcronError `OPTION_INVALID`
   */
  open(): void {
    const { pokedBy, isSolo } = this.options
    if (pokedBy === null || isSolo || onlyJob(this.fleet) !== null) return
    const given = pokedBy(this.fleet)
    this.opened = Array.isArray(given) ? given : [given as Poker]
    for (const one of this.opened) {
      if (typeof one?.start === 'function' && typeof one.close === 'function') continue
      throw optionInvalid('pokedBy', 'give a door, such as (fleet) => bullmqDoor(fleet, { connection }).')
    }
    for (const one of this.opened) {
      one.start().catch((error) => this.logger.error(`what pokes jobs could not start: ${String(error)}`))
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.opened.map((one) => one.close()))
  }
}
