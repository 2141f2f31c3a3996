import { createHash } from 'node:crypto'
import { FleetcronError } from '../../errors.js'

/** A schema's name, checked and quoted. */
export function quotedSchema(schema: string): string {
  const isUsable = schema !== '' && Buffer.byteLength(schema) <= 63 && !schema.includes('\0') && !/^pg_/i.test(schema)
  if (isUsable) return `"${schema.replaceAll('"', '""')}"`
  throw new FleetcronError(
    'OPTION_INVALID',
    `The option schema is ${JSON.stringify(schema)}: a schema's name has 1 to 63 bytes and does not begin with pg_.`,
  )
}

/** A statement for the ledger's own schema; they are written for one named fleetcron. */
export function inSchema(sql: string, quoted: string): string {
  return sql.replace(/\bfleetcron\./g, () => `${quoted}.`)
}

/** Numbers that name locks of a database: one while its schema is made, and one of each fleet. */
export function lockKey(...names: readonly string[]): bigint {
  return createHash('sha256').update(JSON.stringify(names)).digest().readBigInt64BE(0)
}

/** The channel on which a fleet tells what became due earlier. */
export function channelOf(schema: string, fleet: string): string {
  return `fleetcron_${createHash('sha256')
    .update(JSON.stringify([schema, fleet]))
    .digest('hex')
    .slice(0, 24)}`
}
