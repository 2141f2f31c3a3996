import type { Fleet } from '../fleet/fleet.js'
import { createHttpHandler } from './handler.js'
import { type NodeHandler, toNodeHandler } from './node.js'
import { type HttpOptions, resolveHttp } from './options.js'

/** A door for `FleetModule.forRoot({ http })`. */
export interface HttpDoor {
  readonly path: string
  nodeHandler(fleet: Fleet): NodeHandler
}

/**
 * The HTTP door of a NestJS application, on Express or Fastify.
 *
 * @example
 * FleetModule.forRoot({ fleet: 'billing', store, http: httpDoor({ secrets: [process.env.FLEET_SECRET] }) })
 * @throws FleetcronError `OPTION_INVALID`, also where no secret and no token is given
 */
export function httpDoor(options: HttpOptions): HttpDoor {
  const { path } = resolveHttp(options)
  return { path, nodeHandler: (fleet) => toNodeHandler(createHttpHandler(fleet, options)) }
}
