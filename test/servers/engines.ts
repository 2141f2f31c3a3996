import type { Engine } from './engine.js'
import { MARIADB } from './mariadb.js'
import { PGBOUNCER } from './pgbouncer.js'
import { POSTGRES, POSTGRES_18 } from './postgres.js'
import { REDIS, REDIS_CLUSTER } from './redis.js'
import { REDIS_SENTINEL } from './redis-sentinel.js'

/** Every kind of server that tests may ask for, by name. */
export const ENGINES: ReadonlyMap<string, Engine> = new Map(
  [POSTGRES, POSTGRES_18, PGBOUNCER, MARIADB, REDIS, REDIS_CLUSTER, REDIS_SENTINEL].map((engine) => [
    engine.name,
    engine,
  ]),
)
