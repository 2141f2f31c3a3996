import type { Examination } from '../store/examination.js'
import type { Finding } from './findings.js'
import { counted } from './views.js'

/** Connections of the pool that a store's URL makes, on each node. */
const POOL_SIZE = 5

/** In use, of those that the server allows: little is left, or as good as nothing. */
const LITTLE_LEFT = 0.8
const NOTHING_LEFT = 0.95

/** What endangers a fleet in the server of its ledger, and before it. */
export function serverFindings(seen: Examination | null, liveNodes: number): Finding[] {
  if (seen === null) return []
  return [...eviction(seen), ...poolSize(seen, liveNodes), ...pooler(seen)]
}

function eviction({ eviction: policy }: Examination): Finding[] {
  if (policy === null || policy === 'noeviction') return []
  const what = `The server throws keys away when its memory is full (maxmemory-policy ${policy}), rows of the ledger among them.`
  const remedy = 'Set maxmemory-policy to noeviction, and give caches a server of their own.'
  return [{ finding: 'eviction', grave: true, what, remedy }]
}

function poolSize({ connections }: Examination, liveNodes: number): Finding[] {
  if (connections === null) return []
  const { used, most } = connections
  const wanted = liveNodes * POOL_SIZE
  if (used < most * LITTLE_LEFT && wanted <= most) return []
  const nodes = counted(liveNodes, 'live node')
  const what = `The server allows ${most} connections, ${used} are in use, and the pools of ${nodes} may take ${wanted} for the ledger alone.`
  const remedy =
    'Raise its limit, make pools smaller (two connections are the least that a ledger needs), or put a pooler in transaction mode between.'
  return [{ finding: 'pool-size', grave: used >= most * NOTHING_LEFT, what, remedy }]
}

/** The ledger works behind each of them: a call is one message, and uses no prepared statement. */
const POOLERS = {
  transaction: {
    grave: false,
    what: 'it gives each transaction a server connection (transaction mode), which suits a ledger; there are no wake-ups, so what is asked for by hand begins at the next beat, up to 10 s later.',
    remedy:
      'Leave it so, or let the ledger connect directly for wake-ups. Libraries that use prepared statements for effects need PgBouncer 1.21 with max_prepared_statements.',
  },
  session: {
    grave: false,
    what: 'it gives each client a server connection for as long as it is connected (session mode): a fleet stays connected, so its pools take as many of them as without a pooler, and there are no wake-ups.',
    remedy: 'Let the ledger connect directly, or set pool_mode to transaction for it.',
  },
  statement: {
    grave: true,
    what: 'it gives each statement a server connection (statement mode): the ledger works, but no transaction does, and effects are transactions.',
    remedy: 'Set pool_mode to transaction for every database that holds effects, or connect directly.',
  },
} as const

function pooler({ pooler: mode }: Examination): Finding[] {
  if (mode === null) return []
  const { grave, what, remedy } = POOLERS[mode]
  return [{ finding: 'pooler', grave, what: `The connection goes through a pooler: ${what}`, remedy }]
}
