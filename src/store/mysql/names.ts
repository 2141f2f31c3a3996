import { FleetcronError } from '../../errors.js'
import { part, type Sql, type Value } from './literal.js'

/** MySQL's tables have names of at most 64 letters; the longest of the ledger's needs 10. */
const LONGEST_PREFIX = 54

/** The option prefix, checked: letters that every server keeps in the names of its files as they are. */
export function checkedPrefix(prefix: string): string {
  if (/^[A-Za-z0-9_]*$/.test(prefix) && prefix.length <= LONGEST_PREFIX) return prefix
  throw new FleetcronError(
    'OPTION_INVALID',
    `The option prefix is ${JSON.stringify(prefix)}: what the names of the tables begin with has at most ${LONGEST_PREFIX} ` +
      'letters, digits and underscores.',
  )
}

export type Parameters = Readonly<Record<string, Value | Sql>>

/**
 * A statement with its values in place. Statements are written for tables whose names begin with `fleetcron_`, and with
 * `:name` where a value goes. Values are put in and not looked through again, whatever they hold.
 */
export function statement(sql: string, prefix: string, parameters: Parameters): string {
  let made = ''
  for (const piece of piecesOf(sql)) {
    if (typeof piece === 'string') made += piece
    else if ('table' in piece) made += `\`${prefix}${piece.table}\``
    else {
      const value = parameters[piece.parameter]
      if (value === undefined) throw new Error(`The statement has no value for ${piece.parameter}: ${sql}`)
      made += part(value)
    }
  }
  return made
}

type Piece = string | { readonly table: string } | { readonly parameter: string }

/** Statements are constants: each is taken apart once. */
const known = new Map<string, readonly Piece[]>()

function piecesOf(sql: string): readonly Piece[] {
  const before = known.get(sql)
  if (before) return before
  const pieces: Piece[] = []
  let end = 0
  for (const match of sql.matchAll(/\bfleetcron_([a-z]+)\b|:([a-z_0-9]+)/g)) {
    const [found, table, parameter] = match
    pieces.push(sql.slice(end, match.index).replace(/\s+/g, ' '))
    pieces.push(table === undefined ? { parameter: parameter ?? '' } : { table })
    end = match.index + found.length
  }
  pieces.push(sql.slice(end).replace(/\s+/g, ' '))
  known.set(sql, pieces)
  return pieces
}
