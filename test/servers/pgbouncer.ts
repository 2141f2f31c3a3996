import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Engine, Server, Start } from './engine.js'
import { Daemon, findPrograms, give, serverUser } from './processes.js'

/**
 * PgBouncer in transaction mode before the tests' Postgres: few server connections for many clients. Its databases `by_session`
 * and `by_statement` are the same one in the other modes.
 */
export const PGBOUNCER: Engine = {
  name: 'pgbouncer',
  variable: 'FLEETCRON_TEST_PGBOUNCER_URL',
  packages: ['pgbouncer'],
  image: null,
  programs: () => findPrograms(['pgbouncer'], ['/usr/sbin', '/usr/local/sbin']),
  start: startPgBouncer,
}

const READY = /process up/

async function startPgBouncer(how: Start): Promise<Server> {
  if ('image' in how.by) throw new Error('PgBouncer is not started by Docker.')
  const { pgbouncer = '' } = how.by.programs
  const behind = new URL((await how.server('postgres')).url)
  const user = serverUser('postgres')
  const log = join(how.folder, 'log')
  const settings = join(how.folder, 'pgbouncer.ini')
  const users = join(how.folder, 'users.txt')
  writeFileSync(users, `"${behind.username}" "${behind.password}"\n`)
  const host = `host=${behind.hostname} port=${behind.port || 5432}`
  const database = `${host} dbname=${behind.pathname.slice(1)}`
  writeFileSync(
    settings,
    `[databases]
by_session = ${database} pool_mode=session
by_statement = ${database} pool_mode=statement
* = ${host}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${how.port}
unix_socket_dir =
auth_type = trust
auth_file = ${users}
pool_mode = transaction
default_pool_size = 8
max_client_conn = 500
`,
  )
  for (const path of [how.folder, settings, users]) give(path, user)
  const start = () => Daemon.start(user, [pgbouncer, settings], READY, log)
  let daemon = await start()
  return {
    url: `postgres://${behind.username}@127.0.0.1:${how.port}${behind.pathname}`,
    log,
    end: () => daemon.end('SIGTERM'),
    kill: () => daemon.end('SIGKILL'),
    again: async () => {
      daemon = await start()
    },
  }
}
