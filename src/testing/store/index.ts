import type { TestApi } from '../effect/bench.js'
import { BATCHES } from './batches.js'
import { BEAT } from './beat.js'
import { CLAIMS } from './claims.js'
import { FLEETS } from './fleets.js'
import { HOSTILE } from './hostile.js'
import { PAGING, SCALE } from './paging.js'
import { PRUNE } from './prune.js'
import { READS } from './reads.js'
import { SCHEMA } from './schema.js'
import { EXPIRY, SESSIONS } from './sessions.js'
import { SETTLE } from './settle.js'
import { UNREADABLE } from './unreadable.js'
import { WAKES } from './wakes.js'
import { type Cases, inWorld, type OpenPlace } from './world.js'

export type { OpenPlace, SpoiltRow, StorePlace } from './world.js'

/** What a store can do beyond the port's bare contract; every part is held against it unless it is said to be missing. */
export interface StoreCapabilities {
  /** One place holds several fleets. Default: true. */
  readonly fleets?: boolean
  /** `subscribe` tells at once what became due earlier. Default: true. */
  readonly wakes?: boolean
  /** Its rows can be spoilt raw: the place has the hook `spoil`. Default: true. */
  readonly spoils?: boolean
}

const TOPICS: readonly (readonly [topic: string, cases: Cases])[] = [
  ['claims', CLAIMS],
  ['batches', BATCHES],
  ['expiry', EXPIRY],
  ['sessions', SESSIONS],
  ['settle', SETTLE],
  ['beat', BEAT],
  ['paging', PAGING],
  ['scale', SCALE],
  ['reads', READS],
  ['prune', PRUNE],
  ['hostile text', HOSTILE],
  ['schema', SCHEMA],
]

/**
 * What every store has to hold. A store's own test is one call.
 *
 * @param open makes an empty place for each test, whose stores go by the clock given
 * @example
 * storeConformance({ describe, test }, 'sqlite', (now) => {
 *   const folder = mkdtempSync(join(tmpdir(), 'ledger-'))
 *   return {
 *     connect: (fleet) => createSqliteStore({ path: join(folder, 'ledger.db'), fleet, now, driver }),
 *     close: () => rmSync(folder, { recursive: true }),
 *     spoil: (fleet, job, row) => spoilSqlite(join(folder, 'ledger.db'), fleet, job, row),
 *   }
 * })
 */
export function storeConformance(
  { describe, test }: TestApi,
  name: string,
  open: OpenPlace,
  { fleets = true, wakes = true, spoils = true }: StoreCapabilities = {},
): void {
  const optional = [
    ...(fleets ? [['fleets', FLEETS] as const] : []),
    ...(wakes ? [['wakes', WAKES] as const] : []),
    ...(spoils ? [['unreadable rows', UNREADABLE] as const] : []),
  ]
  describe(`ledger on ${name}`, () => {
    for (const [topic, cases] of [...TOPICS, ...optional]) {
      describe(topic, () => {
        for (const [title, run] of Object.entries(cases)) test(title, inWorld(open, run))
      })
    }
  })
}
