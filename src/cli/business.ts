import type { Effects } from '../effect/port.js'
import { type ResolvedEffects, resolveEffects } from '../effect/resolve.js'
import { FleetcronError } from '../errors.js'

/** Opens the business database that a URL names, and closes it afterwards; what it lacks is told with the remedy. */
export async function inBusiness<T>(url: string, act: (effects: Effects) => Promise<T>): Promise<T> {
  const { effects, close } = await openBusiness(url)
  try {
    return await act(effects)
  } catch (error) {
    // Each driver has its own words for a table that is not there: the database is asked instead.
    const isOther = error instanceof FleetcronError && error.code !== 'EFFECT_INVALID'
    const missing = isOther ? [] : await effects.missing().catch(() => [])
    throw missing.length === 0 ? error : lacking(missing, url, error)
  } finally {
    await close()
  }
}

/** What makes the tables of effects, without a password. */
export function makesTables(url: string): string {
  const shown = /^sqlite:/i.test(url) ? url : `${url.slice(0, url.indexOf(':'))}://…`
  return `fleetcron migrate --effects ${shown}`
}

function lacking(missing: readonly string[], url: string, cause: unknown): FleetcronError {
  const message = `The business database has no ${missing.join(', no ')}: run ${makesTables(url)}, or look at the URL.`
  return new FleetcronError('EFFECT_UNAVAILABLE', message, { cause })
}

/** @throws FleetcronError `OPTION_INVALID`, `DRIVER_MISSING` */
export async function openBusiness(url: string): Promise<ResolvedEffects> {
  try {
    return await resolveEffects(url)
  } catch (error) {
    if (!(error instanceof FleetcronError) || error.code !== 'OPTION_INVALID') throw error
    const { cause } = error
    if (cause === undefined) throw error
    const path = url.replace(/^sqlite:(\/\/)?/i, '')
    const isMissing = (cause as NodeJS.ErrnoException).code === 'ENOENT'
    const message = isMissing
      ? `There is no business database ${path}, and none is made here: look at the path in --effects.`
      : `The business database ${path} cannot be opened: look at the path in --effects, and at who may read and write there.`
    throw new FleetcronError('OPTION_INVALID', message, { cause })
  }
}
