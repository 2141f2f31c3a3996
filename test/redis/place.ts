import { createHash, randomUUID } from 'node:crypto'
import { Cluster, type Redis } from 'ioredis'
import type { Store } from '../../src/store/port.js'
import {
  createRedisStore,
  type RedisClient,
  type RedisConnection,
  type RedisStoreOptions,
} from '../../src/store/redis/index.js'
import type { SpoiltRow, StorePlace } from '../../src/testing/store/index.js'

/** Keys of its own in a server that many share. */
export class RedisPlace {
  readonly client: Redis | Cluster
  readonly prefix = `t${randomUUID().slice(0, 8)}`

  constructor(client: Redis | Cluster) {
    this.client = client
  }

  store(fleet: string, options: Partial<RedisStoreOptions> = {}): Store {
    return createRedisStore({ client: this.client, fleet, prefix: this.prefix, ...options })
  }

  /** A key of the ledger, as its scripts name it. */
  key(fleet: string, name: string): string {
    return `{${this.prefix}:${fleet}}:${name}`
  }

  async remove(): Promise<void> {
    for (const node of mastersOf(this.client)) {
      for await (const keys of node.scanStream({ match: `{${this.prefix}:*`, count: 10_000 })) {
        for (const key of keys as string[]) await this.client.unlink(key)
      }
    }
  }
}

export function mastersOf(client: Redis | Cluster): Redis[] {
  return client instanceof Cluster ? client.nodes('master') : [client]
}

export function clusterOf(url: string): Cluster {
  const { hostname, port } = new URL(url)
  return new Cluster([{ host: hostname, port: Number(port) }])
}

/** Places for the suite, whose scripts are told the time instead of asking for it. */
export class TurnedPlaces {
  readonly #client: Redis | Cluster

  constructor(client: Redis | Cluster) {
    this.#client = client
  }

  open(now: () => number): StorePlace {
    const place = new RedisPlace(this.#client)
    const client = turned(this.#client, now)
    return {
      // One case commits 10,000 runs at once, on machines that may have other things to do.
      connect: (fleet) => place.store(fleet, { client, callMs: 30_000 }),
      close: () => place.remove(),
      spoil: (fleet, job, row) => spoil(place, fleet, job, row),
    }
  }

  remove(): void {
    this.#client.disconnect()
  }
}

const CLOCK = `local time = redis.call('TIME')`
const TURNED = 'local time = { math.floor(ARGV[#ARGV] / 1000), (ARGV[#ARGV] % 1000) * 1000 }'

/** A client whose connections hand the time to each script as one argument more. */
function turned(client: Redis | Cluster, now: () => number): RedisClient {
  const { options } = client
  const isCluster = client instanceof Cluster
  const duplicate = (...how: unknown[]): RedisConnection => {
    const connection = (client as RedisClient).duplicate(...how)
    const call = connection.call.bind(connection)
    const texts = new Map<string, string>()
    connection.call = async (command, args) => {
      const [script = '', ...rest] = args.map(String)
      if (command !== 'eval' && command !== 'evalsha') return call(command, args)
      if (command === 'eval') {
        if (script.includes('clock()') && !script.includes(CLOCK))
          throw new Error('The clock of the scripts has changed.')
        texts.set(sha(script), script.replace(CLOCK, TURNED))
      }
      const text = texts.get(command === 'eval' ? sha(script) : script)
      if (text === undefined) throw new Error('NOSCRIPT Not heard of before.')
      return call('eval', [text, ...rest, now()])
    }
    return connection
  }
  return { options, isCluster, duplicate }
}

function sha(text: string): string {
  return createHash('sha1').update(text).digest('hex')
}

const SPOIL = `
local base, job, row = KEYS[1], ARGV[1], ARGV[2]
if row == 'header' then return redis.call('HSET', base .. 'head', job, '{') end
if row == 'definition' then
  local tally = { cmsgpack.unpack(redis.call('HGET', base .. 'tally', job)) }
  return redis.call('HDEL', base .. 'def', job .. '\\0' .. tally[10])
end
local run = 'k\\0' .. job
local row = redis.call('HGET', base .. 'row', run)
local offset = cmsgpack.unpack_limit(row, 10, 0)
return redis.call('HSET', base .. 'row', run, string.sub(row, 1, offset) .. '{')`

async function spoil(place: RedisPlace, fleet: string, job: string, row: SpoiltRow): Promise<void> {
  await place.client.call('eval', SPOIL, 1, place.key(fleet, ''), job, row)
}
