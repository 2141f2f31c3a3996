import { FleetcronError } from '../../errors.js'
import type { StoreInfo } from '../port.js'
import { unusable } from '../unavailable.js'
import type { RedisConnection } from './driver.js'
import { OPEN, SCHEMA_VERSION } from './scripts/open.js'
import { SHARED } from './scripts/shared.js'
import { type Server, script } from './server.js'

/** What a server says of itself; null where it may not be asked. */
export interface Facts {
  readonly version: string | null
  readonly isValkey: boolean
  readonly role: string | null
  readonly replicas: number
  readonly isCluster: boolean
  readonly policy: string | null
  readonly appendonly: string | null
  readonly appendfsync: string | null
}

/** By a script, so that in a Cluster the node is asked that holds the ledger. */
const INFO = script(`${SHARED}
local found = {}
for i, section in ipairs({ 'server', 'replication', 'memory', 'persistence', 'cluster' }) do
  local told = redis.pcall('INFO', section)
  found[i] = type(told) == 'string' and told or type(told) == 'table' and told.verbatim_string and told.verbatim_string.string or ''
end
return table.concat(found, '\\n')`)

const OPENING = script(OPEN)

const OLDEST = [6, 2] as const

/** Looks at the server before anything is made in it, and refuses one that cannot hold a ledger. */
export async function inspect(server: Server, main: RedisConnection, isSentinel: boolean): Promise<Facts> {
  const info = linesOf(await server.run<string>(main, INFO, []))
  const [policy, appendonly, appendfsync] = await Promise.all(
    (['maxmemory-policy', 'appendonly', 'appendfsync'] as const).map((name) => setting(server, main, name)),
  )
  const facts: Facts = {
    version: info.get('redis_version') ?? null,
    isValkey: info.has('valkey_version') || info.get('server_name') === 'valkey',
    role: info.get('role') ?? null,
    replicas: Number(info.get('connected_slaves') ?? 0) + (isSentinel ? 1 : 0),
    isCluster: info.get('cluster_enabled') === '1',
    policy: policy ?? info.get('maxmemory_policy') ?? null,
    appendonly: appendonly ?? (info.has('aof_enabled') ? (info.get('aof_enabled') === '1' ? 'yes' : 'no') : null),
    appendfsync: appendfsync ?? null,
  }
  const [major = 0, minor = 0] = (facts.version ?? '99.0').split('.').map(Number)
  if (major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1])) {
    const what = `The ledger ${server.place} is in Redis ${facts.version}: it needs Redis ${OLDEST.join('.')} or later, or Valkey.`
    throw new FleetcronError('OPTION_INVALID', what)
  }
  if (facts.role === 'slave') throw unusable(server.place, 'it is a replica: the ledger needs the master')
  return facts
}

/** Makes the ledger where there is none, and tells how far it can be trusted. */
export async function infoOf(server: Server, main: RedisConnection, facts: Facts): Promise<StoreInfo> {
  type Answer = readonly [schema: number, incarnation?: string, writes?: number]
  const [schema, incarnation = '', writes = 0] = await server.run<Answer>(main, OPENING, server.history())
  if (schema > SCHEMA_VERSION) {
    const what = `The ledger ${server.place} has the layout ${schema}, and this version of fleetcron knows ${SCHEMA_VERSION}: `
    throw new FleetcronError(
      'STORE_NEWER',
      `${what}install the version of fleetcron that the other nodes run, or a later one.`,
    )
  }
  server.learn(incarnation, writes)
  const remarks = remarksOf(facts)
  return {
    kind: facts.isValkey ? 'valkey' : 'redis',
    grade: remarks.length === 0 ? 'correct' : 'efficient',
    remark: remarks.length === 0 ? null : remarks.join(' '),
    incarnation,
  }
}

/** Whether a server is a node of a Cluster; false where it may not be asked. */
export async function isClusterNode(server: Server, main: RedisConnection): Promise<boolean> {
  const told = await server
    .within(main, server.callMs, () => main.call('info', ['cluster']))
    .catch((error) => {
      if (error instanceof FleetcronError && /lacks a right/.test(error.message)) return ''
      throw error
    })
  return linesOf(String(told)).get('cluster_enabled') === '1'
}

/** Why acknowledged writes can be lost, and what to do; the worst comes first. */
function remarksOf(facts: Facts): string[] {
  const { policy, appendonly, appendfsync, replicas, isCluster } = facts
  const remarks: string[] = []
  if (policy === null) remarks.push('Whether the server throws keys away when its memory is full cannot be told.')
  else if (policy !== 'noeviction') {
    remarks.push(
      `THE SERVER MAY THROW ROWS OF THE LEDGER AWAY when its memory is full (maxmemory-policy ${policy}): set it to noeviction.`,
    )
  }
  if (appendonly === 'no') {
    remarks.push(
      'The server keeps no log of writes (appendonly no), so a restart loses the last ones: set it to yes, and appendfsync to always.',
    )
  } else if (appendonly === null || appendfsync === null) {
    remarks.push(
      'How safely the server keeps its writes cannot be told (CONFIG is not allowed), so it is taken for able to lose the last ones.',
    )
  } else if (appendfsync !== 'always') {
    remarks.push(`The server may lose the last second of writes (appendfsync ${appendfsync}): set it to always.`)
  }
  if (isCluster) remarks.push('A failover in a Cluster may lose the last writes, since replicas lag behind.')
  else if (replicas > 0) remarks.push('A failover may lose the last writes, since replicas lag behind.')
  return remarks
}

/** A setting of the server, or the first odd one of all masters of a Cluster; null where CONFIG is not allowed. */
export async function setting(
  server: Server,
  main: RedisConnection,
  name: keyof typeof GOOD | 'maxclients',
): Promise<string | null> {
  const servers = main.nodes?.('master') ?? [main]
  try {
    const told = await server.within(main, server.callMs, () =>
      Promise.all(servers.map((server) => server.call('config', ['get', name]))),
    )
    const values = told.map((each) => (Array.isArray(each) ? String(each[1] ?? '') : ''))
    if (name === 'maxclients') return values[0] ?? null
    return values.find((value) => value !== GOOD[name]) ?? values[0] ?? null
  } catch {
    return null
  }
}

const GOOD = { 'maxmemory-policy': 'noeviction', appendonly: 'yes', appendfsync: 'always' } as const

export function linesOf(info: string): Map<string, string> {
  return new Map(
    info.split(/\r?\n/).flatMap((line) => {
      const at = line.indexOf(':')
      return at > 0 ? [[line.slice(0, at), line.slice(at + 1)] as const] : []
    }),
  )
}
