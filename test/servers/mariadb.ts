import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startContainer } from './docker.js'
import type { Engine, Programs, Server, Start } from './engine.js'
import { Daemon, findPrograms, give, runAs, serverUser } from './processes.js'

/** The machine's own MariaDB, whatever its version. */
export const MARIADB: Engine = {
  name: 'mariadb',
  variable: 'FLEETCRON_TEST_MARIADB_URL',
  packages: ['mariadb-server'],
  image: 'mariadb:10.11',
  programs: () => findPrograms(['mariadbd', 'mariadb-install-db'], ['/usr/sbin', '/usr/bin']),
  start: startMariadb,
}

const DATABASE = 'fleetcron'
const USER = 'fleetcron'

/** Everybody who reaches the loopback is this user, who may do everything. */
const ACCESS = `
CREATE DATABASE IF NOT EXISTS ${DATABASE};
CREATE USER IF NOT EXISTS '${USER}'@'%';
GRANT ALL ON *.* TO '${USER}'@'%' WITH GRANT OPTION;
`

const SETTINGS = ['--max-connections=200', '--innodb-buffer-pool-size=64M']

/** For a server that many tests share, and none of them kills. */
const FORGETFUL = ['--innodb-flush-log-at-trx-commit=0', '--innodb-doublewrite=0']

async function startMariadb(how: Start): Promise<Server> {
  const url = `mysql://${USER}@127.0.0.1:${how.port}/${DATABASE}`
  const access = join(how.folder, 'access.sql')
  writeFileSync(access, ACCESS, { mode: 0o644 })
  const server =
    'image' in how.by ? await inDocker(how, how.by.image, access) : await onThisMachine(how, how.by.programs, access)
  return { url, ...server }
}

async function onThisMachine(how: Start, programs: Programs, access: string): Promise<Omit<Server, 'url'>> {
  const { mariadbd = '', 'mariadb-install-db': installDb = '' } = programs
  const user = serverUser('mysql')
  const data = join(how.folder, 'data')
  const log = join(how.folder, 'log')
  give(how.folder, user)
  give(access, user)
  const first = ['--auth-root-authentication-method=normal', '--skip-test-db', '--skip-name-resolve']
  runAs(user, installDb, ['--no-defaults', `--datadir=${data}`, ...first, ...FORGETFUL])
  const command = [
    mariadbd,
    '--no-defaults',
    `--datadir=${data}`,
    `--port=${how.port}`,
    '--bind-address=127.0.0.1',
    `--socket=${join(how.folder, 'socket')}`,
    `--init-file=${access}`,
    '--skip-name-resolve',
    ...SETTINGS,
    ...(how.isDurable ? [] : FORGETFUL),
  ] as const
  const start = () => Daemon.start(user, [...command], readyOn(how.port), log)
  let daemon = await start()
  return {
    log,
    end: () => daemon.end('SIGTERM'),
    kill: () => daemon.end('SIGKILL'),
    again: async () => {
      daemon = await start()
    },
  }
}

async function inDocker(how: Start, image: string, access: string): Promise<Omit<Server, 'url'>> {
  const log = join(how.folder, 'log')
  const args = ['-p', `127.0.0.1:${how.port}:3306`, '-v', `${access}:/docker-entrypoint-initdb.d/access.sql:ro`]
  return startContainer([...args, '-e', 'MARIADB_ALLOW_EMPTY_ROOT_PASSWORD=1', image, ...SETTINGS], readyOn(3306), log)
}

/** The line by which it says that it answers; the one about its socket has the port in quotes. */
function readyOn(port: number): RegExp {
  return new RegExp(`\\bport: ${port}\\b`)
}
