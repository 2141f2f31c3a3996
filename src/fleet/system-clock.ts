import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { hostname, uptime } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { LONGEST_TIMER_MS, longTimer } from '../timer.js'
import type { Clock } from './clock.js'

/**
 * The clock of this process. Together with the functions below it is the only place in the fleet that asks the process or
 * the machine anything.
 */
export function createSystemClock(): Clock {
  return {
    wall: () => Date.now(),
    monotonic: () => performance.now(),
    suspended: suspendedReader(),
    after: (delayMs, fn) => longTimer(delayMs, fn, { unref: true }),
    random: () => Math.random(),
    id: () => randomUUID(),
  }
}

/**
 * Linux counts the time of a suspend in its uptime but not in the monotonic clock; where neither or both count it, this
 * stays at zero. Unlike the wall clock it does not move when somebody sets the time.
 */
function suspendedReader(): () => number {
  const atStart = readGap() ?? uptime() * 1000 - performance.now()
  let known = atStart
  let readAt = performance.now()
  let drift = Date.now() - readAt
  return () => {
    const now = performance.now()
    const moved = Math.abs(Date.now() - now - drift)
    // The uptime costs a read of a file; a suspend moves the wall clock too, which costs nothing to look at.
    if (moved < MOVED_MS && now - readAt < FRESH_MS) return known - atStart
    known = readGap() ?? known
    readAt = now
    drift = Date.now() - now
    return known - atStart
  }
}

const MOVED_MS = 20
const FRESH_MS = 1_000
const TIGHT_MS = 5
const TRIES = 5

/** Two clocks cannot be read at once: a process that loses its turn between them would see a suspend that never was. Null: it lost it each time. */
function readGap(): number | null {
  for (let tries = 0; tries < TRIES; tries++) {
    const before = performance.now()
    const up = uptime() * 1000
    if (performance.now() - before < TIGHT_MS) return up - before
  }
  return null
}

/** Keeps the process alive until it is called: a fleet whose timers are all that a program has must not end by itself. */
export function keepAlive(): () => void {
  const timer = setInterval(() => {}, LONGEST_TIMER_MS)
  return () => clearInterval(timer)
}

/** What the process says of itself, read once where a fleet is created. */
export interface Surroundings {
  /** `host#pid`. */
  readonly label: string
  /** The name in the package.json of the working directory; null without. */
  readonly packageName: string | null
  readonly timeZone: string
  readonly zoneData: string
  /** The variable FLEETCRON_STORE. */
  readonly storeVariable: string | undefined
}

export function readSurroundings(): Surroundings {
  return {
    label: `${hostname()}#${process.pid}`,
    packageName: readPackageName(),
    timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    zoneData: process.versions.tz ?? 'unknown',
    storeVariable: process.env.FLEETCRON_STORE,
  }
}

function readPackageName(): string | null {
  try {
    const { name } = JSON.parse(readFileSync(join(process.cwd(), 'package.json'), 'utf8')) as { name?: unknown }
    return typeof name === 'string' && name !== '' ? name : null
  } catch {
    return null
  }
}

/** Lines to stderr: what is worth reading is not mixed with what a program prints. */
export function stderrLine(line: string): void {
  process.stderr.write(`${new Date().toISOString()} ${line}\n`)
}
