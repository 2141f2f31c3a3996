import { FleetcronError } from '../errors.js'

export function pauseMs(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

/** @throws `STORE_UNAVAILABLE` where a fleet has not started after so long; it may go on trying, and is to be stopped */
export async function within(ms: number, start: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    const message = `The store could not be reached within ${ms / 1_000} s: nothing was run.`
    timer = setTimeout(() => reject(new FleetcronError('STORE_UNAVAILABLE', message)), ms)
  })
  try {
    await Promise.race([start, late])
  } finally {
    clearTimeout(timer)
    start.catch(() => undefined)
  }
}
