import { hostname } from 'node:os'

/** A month of the demonstration: every two seconds. */
export const PERIOD_MS = 2_000

/** The period that an instant lies in, by its beginning. Seconds of zero are left out, as in the keys of runs. */
export function periodAt(instant: number): string {
  const start = new Date(instant - (instant % PERIOD_MS)).toISOString()
  return start.endsWith(':00.000Z') ? `${start.slice(0, 16)}Z` : `${start.slice(0, 19)}Z`
}

/** How people name this process. */
export function nodeLabel(): string {
  return `${hostname()}#${process.pid}`
}
