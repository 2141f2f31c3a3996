import type { CatchUp, Overlap } from '../../src/ledger/types.js'

/**
 * The table of overlap × catch-up × what is found, as data: `policies.test.ts` tries every combination, and
 * docs/ledger.md shows it. A minute job with one place whose cursor stands at 10:05:10.
 */

/** What the place is held by when the job is attended. */
export const HOLDERS = {
  nobody: 'nobody',
  fresh: 'a fresh run',
  retrying: 'a fresh run that awaits its retry',
  manual: 'a manual run',
  backfill: 'a backfill',
  'catch-up': 'a catch-up run',
} as const

export type Holder = keyof typeof HOLDERS

/** A fresh occurrence that is not joined with catch-up: its row, and what becomes of the holder. */
export interface FreshFate {
  readonly row: 'starts' | 'waits' | 'skipped(overlap)'
  readonly holder: 'goes on' | 'is asked to stop' | 'is cancelled, replaced'
}

const starts: FreshFate = { row: 'starts', holder: 'goes on' }
const waits: FreshFate = { row: 'waits', holder: 'goes on' }
const skipped: FreshFate = { row: 'skipped(overlap)', holder: 'goes on' }

export const FRESH: Record<Holder, Record<Overlap, FreshFate>> = {
  nobody: { skip: starts, wait: starts, merge: starts, replace: starts },
  fresh: { skip: skipped, wait: waits, merge: waits, replace: { row: 'waits', holder: 'is asked to stop' } },
  retrying: { skip: skipped, wait: waits, merge: waits, replace: { row: 'starts', holder: 'is cancelled, replaced' } },
  manual: { skip: waits, wait: waits, merge: waits, replace: waits },
  backfill: { skip: waits, wait: waits, merge: waits, replace: waits },
  'catch-up': { skip: waits, wait: waits, merge: waits, replace: waits },
}

/** What is found due: when the job is attended, with which grace, and whether the newest is fresh. */
export const FOUND = {
  'one, fresh': { at: '10:06:05', graceMs: 60_000, fresh: '10:06' },
  'one, late': { at: '10:06:05', graceMs: 1_000, fresh: null },
  'five, the newest fresh': { at: '10:10:05', graceMs: 60_000, fresh: '10:10' },
  'five, all late': { at: '10:10:05', graceMs: 1_000, fresh: null },
  'many, too old ones among them': { at: '12:10:05', graceMs: 60_000, fresh: '12:10' },
} as const

export type Found = keyof typeof FOUND

export const CATCH_UP: Record<CatchUp['policy'], CatchUp> = {
  merge: { policy: 'merge', withinMs: null, most: 100 },
  each: { policy: 'each', withinMs: 3_600_000, most: 3 },
  skip: { policy: 'skip', withinMs: null, most: 100 },
}

/** What becomes of what passed, as `from..to xcount fate`; whether the fresh one is joined with it. */
export const PASSED: Record<CatchUp['policy'], Record<Found, { readonly rows: string[]; readonly joined: boolean }>> = {
  merge: {
    'one, fresh': { rows: [], joined: false },
    'one, late': { rows: ['10:06..10:06 x1 catch-up'], joined: false },
    'five, the newest fresh': { rows: ['10:06..10:10 x5 catch-up'], joined: true },
    'five, all late': { rows: ['10:06..10:10 x5 catch-up'], joined: false },
    'many, too old ones among them': {
      rows: ['10:06..11:10 x65 missed(too-old)', '11:11..12:10 x60 catch-up'],
      joined: true,
    },
  },
  each: {
    'one, fresh': { rows: [], joined: false },
    'one, late': { rows: ['10:06..10:06 x1 catch-up'], joined: false },
    'five, the newest fresh': {
      rows: [
        '10:06..10:06 x1 missed(too-many)',
        '10:07..10:07 x1 catch-up',
        '10:08..10:08 x1 catch-up',
        '10:09..10:09 x1 catch-up',
      ],
      joined: false,
    },
    'five, all late': {
      rows: [
        '10:06..10:07 x2 missed(too-many)',
        '10:08..10:08 x1 catch-up',
        '10:09..10:09 x1 catch-up',
        '10:10..10:10 x1 catch-up',
      ],
      joined: false,
    },
    'many, too old ones among them': {
      rows: [
        '10:06..11:10 x65 missed(too-old)',
        '11:11..12:06 x56 missed(too-many)',
        '12:07..12:07 x1 catch-up',
        '12:08..12:08 x1 catch-up',
        '12:09..12:09 x1 catch-up',
      ],
      joined: false,
    },
  },
  skip: {
    'one, fresh': { rows: [], joined: false },
    'one, late': { rows: ['10:06..10:06 x1 missed(policy)'], joined: false },
    'five, the newest fresh': { rows: ['10:06..10:09 x4 missed(policy)'], joined: false },
    'five, all late': { rows: ['10:06..10:10 x5 missed(policy)'], joined: false },
    'many, too old ones among them': {
      rows: ['10:06..11:10 x65 missed(too-old)', '11:11..12:09 x59 missed(policy)'],
      joined: false,
    },
  },
}
