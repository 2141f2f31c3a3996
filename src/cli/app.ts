import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { FleetcronError } from '../errors.js'
import { BOOT } from '../fleet/boot.js'
import type { Fleet } from '../fleet/fleet.js'

/**
 * The fleet of an application's module: its default export or its export `fleet`, or what that gives when it is called. It
 * may come from another copy of the package.
 *
 * @param orElse what else there is to do for whoever names a module of NestJS, to end the sentence with
 */
export async function fleetOfApp(path: string, orElse = ''): Promise<Fleet> {
  const exported = await load(path)
  const found = exported.fleet ?? unwrapped(exported.default)
  throwIfNest(path, [found, ...Object.values(exported), ...Object.values(Object(exported.default))], orElse)
  const fleet: unknown = typeof found === 'function' ? await found() : found
  if (isFleet(fleet)) return fleet
  throw new FleetcronError(
    'OPTION_INVALID',
    `The module ${path} has no fleet: export what createFleet gives as \`fleet\` or as the default, and leave start() to this command.`,
  )
}

/** A NestJS application makes its fleet itself, and closes its context: it is a door of its own. */
function throwIfNest(path: string, exported: readonly unknown[], orElse: string): void {
  const { hasMetadata } = Reflect as { hasMetadata?: (key: string, target: object) => boolean }
  const isModule = (value: unknown) =>
    typeof value === 'function' && MODULE_KEYS.some((key) => hasMetadata?.(key, value) === true)
  if (!exported.some(isModule) || exported.some(isFleet)) return
  throw new FleetcronError(
    'OPTION_INVALID',
    `The module ${path} exports a module of NestJS and no fleet: write a script of one line, runFleetJob(AppModule, process.argv.slice(2)) of fleetcron/nest, and let the platform start that${orElse}.`,
  )
}

const MODULE_KEYS = ['imports', 'providers', 'controllers', 'exports']

function isFleet(value: unknown): value is Fleet {
  return typeof value === 'object' && value !== null && BOOT in value
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
