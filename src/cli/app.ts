import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { FleetcronError } from '../errors.js'
import { BOOT } from '../fleet/boot.js'
import type { Fleet } from '../fleet/fleet.js'

/**
 * The fleet of an application's module: its default export or its export `fleet`, or what that gives when it is called. It
 * may come from another copy of the package.
 */
export async function fleetOfApp(path: string): Promise<Fleet> {
  const exported = await load(path)
  const found = exported.fleet ?? unwrapped(exported.default)
  const fleet: unknown = typeof found === 'function' ? await found() : found
  if (typeof fleet === 'object' && fleet !== null && BOOT in fleet) return fleet as unknown as Fleet
  throw new FleetcronError(
    'OPTION_INVALID',
    `The module ${path} has no fleet: export what createFleet gives as \`fleet\` or as the default, and leave start() to this command.`,
  )
}

/** A module in CommonJS is the default of what an import gives. */
function unwrapped(value: unknown): unknown {
  const inner = typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  return inner.fleet ?? inner.default ?? value
}

async function load(path: string): Promise<Record<string, unknown>> {
  try {
    return (await import(pathToFileURL(resolve(path)).href)) as Record<string, unknown>
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new FleetcronError('OPTION_INVALID', `The module ${path} cannot be loaded: ${why}`, { cause })
  }
}
