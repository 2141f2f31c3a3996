import { SHARED } from './shared.js'

/** The ledger's layout in Redis that this version knows. A patch never changes it, a minor version only adds to it. */
export const SCHEMA_VERSION = 1

/** Makes the ledger where there is none; tells its schema and what the server says of itself. */
const CALL = `
local seen, candidate = number(), arg()
local schema = tonumber(redis.call('HGET', base .. 'meta', 'schema')) or ${SCHEMA_VERSION}
if schema > ${SCHEMA_VERSION} then return { schema } end
local incarnation, writes = begin(seen, candidate)
return { schema, incarnation, writes }
`

export const OPEN = SHARED + CALL
