import { appendFileSync, readFileSync } from 'node:fs'
import type { JobOptions, Run } from '../../src/index.js'

/**
 * The jobs of an application that a platform's scheduler starts, the same for plain Node and for NestJS. What they work on
 * is written to a file.
 */
const { WORKED = '', DAILY = '0 0' } = process.env

export const LEASE = '3s'

const often = { cron: '*/2 * * * * *', timeZone: 'UTC' } as const

/** At a time of day, minutes and hours, that the test says. */
export const daily = { cron: `${DAILY} * * *`, timeZone: 'UTC' } as const

export const TERMS = {
  often,
  fails: often,
  long: often,
  deadly: often,
  poked: { ...often, attend: 'poke' },
  rare: { cron: '0 0 1 1 *', timeZone: 'UTC' },
  off: { cron: '* * * * *', timeZone: 'UTC', disabled: true },
  daily,
  reports: { ...daily, catchUp: { policy: 'each', within: '7d' } },
} as const satisfies Readonly<Record<string, JobOptions>>

export const WORK: Readonly<Record<keyof typeof TERMS, (run: Run) => unknown>> = {
  often: done,
  poked: done,
  daily: done,
  reports: done,
  rare: done,
  off: done,
  fails: () => {
    throw new Error('no rates')
  },
  long: async ({ key, signal }) => {
    note(`begun ${key}`)
    process.stdout.write('begun\n')
    await new Promise((resolve) => {
      process.once('SIGTERM', resolve)
      signal.addEventListener('abort', resolve)
    })
    return 'ended in good order'
  },
  // The first process that comes here does not come back.
  deadly: async ({ key, signal }) => {
    const isFirst = readFileSync(WORKED, 'utf8') === ''
    note(`begun ${key}`)
    if (isFirst) {
      process.stdout.write('begun\n')
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    }
    note(key)
  },
}

function done({ key }: Run): string {
  note(key)
  return key
}

export function note(line: string): void {
  appendFileSync(WORKED, `${line}\n`)
}
