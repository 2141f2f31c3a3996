import { FleetcronError } from '../../errors.js'
import type { AmbientOption, TransactionOptions } from '../connections.js'
import { createEffects } from '../effects.js'
import { type Library, libraryAdapter } from '../library.js'
import { takeTransactionOptions } from '../options.js'
import type { EffectOptions, Effects } from '../port.js'

export type { AmbientOption, IsolationLevel, TransactionOptions } from '../connections.js'
export { type Library, libraryAdapter } from '../library.js'

export type CustomEffectOptions<Tx = unknown> = EffectOptions & TransactionOptions & AmbientOption<Tx>

/**
 * Effects through any library that can begin a transaction and run a statement in it, on Postgres, MySQL or MariaDB. Hold
 * what you wrote to `effectConformance` of `fleetcron/testing`.
 *
 * @example
 * const effects = custom({
 *   dialect: 'postgres',
 *   transaction: (fn) => db.tx(fn),
 *   query: async (tx, sql, params) => {
 *     const { rows, rowCount } = await tx.result(sql, params)
 *     return { rows, affected: rowCount }
 *   },
 * })
 */
export function custom<Tx>(library: Library<Tx>, options: CustomEffectOptions<Tx> = {}): Effects<Tx> {
  for (const name of ['transaction', 'query'] as const) {
    if (typeof library?.[name] === 'function') continue
    throw new FleetcronError('OPTION_INVALID', `effects: custom() needs ${name}, a function.`)
  }
  if (library.dialect !== 'postgres' && library.dialect !== 'mysql') {
    throw new FleetcronError(
      'OPTION_INVALID',
      `effects: custom() needs dialect 'postgres' or 'mysql', not ${String(library.dialect)}.`,
    )
  }
  const [transactions, rest] = takeTransactionOptions(options)
  return createEffects(libraryAdapter(library, transactions), rest)
}
