import type { IncomingMessage, ServerResponse } from 'node:http'
import { Inject, Injectable, Logger, type OnModuleInit } from '@nestjs/common'
import { HttpAdapterHost } from '@nestjs/core'
import type { Fleet } from '../fleet/fleet.js'
import { optionInvalid } from '../fleet/option-values.js'
import type { ResolvedModule } from './options.js'
import { FLEET, MODULE } from './tokens.js'

type Middleware = (request: IncomingMessage, response: ServerResponse, next: (error?: unknown) => void) => void

/** What the module mounts on the application's web server, such as what `httpDoor()` of fleetcron/http gives. */
export interface WebDoor {
  /** Where its routes begin; a global prefix does not count. */
  readonly path: string
  nodeHandler(fleet: Fleet): Middleware
}

/** @throws FleetcronError `OPTION_INVALID` */
export function webDoorsOf(given: WebDoor | readonly WebDoor[] | undefined): readonly WebDoor[] {
  if (given === undefined) return []
  const doors: readonly WebDoor[] = Array.isArray(given) ? given : [given]
  for (const door of doors) {
    if (typeof door?.nodeHandler === 'function' && typeof door.path === 'string') continue
    throw optionInvalid('http', 'pass what a door gives, such as httpDoor({ secrets: [process.env.FLEET_SECRET] }).')
  }
  return doors
}

/**
 * Mounts the web doors. They stand in front of what reads bodies, since what was signed are the bytes that were sent: so they
 * are mounted as soon as there is a web server, before the application's own middleware. A testing module has none until
 * its application is made.
 */
@Injectable()
export class WebDoors implements OnModuleInit {
  private mountedOn: unknown = null

  constructor(
    @Inject(MODULE) private readonly options: ResolvedModule,
    @Inject(FLEET) private readonly fleet: Fleet,
    @Inject(HttpAdapterHost) private readonly host: HttpAdapterHost,
  ) {
    this.mount()
  }

  onModuleInit(): void {
    this.mount()
    const { doors } = this.options
    if (doors.length === 0 || this.mountedOn !== null) return
    const paths = doors.map(({ path }) => path).join(', ')
    new Logger('Fleetcron').log(`this application has no web server: nothing listens at ${paths}`)
  }

  private mount(): void {
    const adapter: HttpAdapterHost['httpAdapter'] | undefined = this.host.httpAdapter
    // The stand-in that a testing module has at first is of no type.
    if (!adapter?.getType() || adapter === this.mountedOn || this.options.doors.length === 0) return
    this.mountedOn = adapter
    for (const door of this.options.doors) adapter.use(door.nodeHandler(this.fleet))
  }
}
