import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { startContainer } from './docker.js'
import type { Engine, Programs, Server, Start } from './engine.js'
import { Daemon, findPrograms, freePort, give, runAs, serverUser } from './processes.js'

export const REDIS_FOLDERS = ['/usr/local/bin', '/opt/redis/bin']

/** The machine's own Redis, whatever its version. */
export const REDIS: Engine = {
  name: 'redis',
  variable: 'FLEETCRON_TEST_REDIS_URL',
  packages: ['redis-server'],
  image: 'redis:7',
  programs,
  start: async (how) => {
    const url = `redis://127.0.0.1:${how.port}`
    if ('programs' in how.by) return { url, ...(await onThisMachine(how, how.by.programs)) }
    const args = ['-p', `127.0.0.1:${how.port}:6379`, how.by.image, 'redis-server', ...settings(how)]
    return { url, ...(await startContainer(args, REDIS_READY, join(how.folder, 'log'))) }
  },
}

/** Three masters that share the slots; its URL names the first. */
export const REDIS_CLUSTER: Engine = {
  name: 'redis-cluster',
  variable: 'FLEETCRON_TEST_REDIS_CLUSTER_URL',
  packages: ['redis-server'],
  image: null,
  programs,
  start: startCluster,
}

/** SIGTERM is refused for good by a Redis that writes its first log (a replica just did), and nothing is to be kept. */
const END: NodeJS.Signals = 'SIGKILL'

export const REDIS_READY = /Ready to accept connections/

function programs(): Programs | null {
  return findPrograms(['redis-server', 'redis-cli'], REDIS_FOLDERS)
}

/** Durable: what is acknowledged is on the disk. */
function settings({ isDurable }: Start): string[] {
  const durable = isDurable ? ['--appendonly', 'yes', '--appendfsync', 'always'] : ['--appendonly', 'no']
  return ['--save', '', '--protected-mode', 'no', ...durable]
}

async function onThisMachine(how: Start, { 'redis-server': program = '' }: Programs): Promise<Omit<Server, 'url'>> {
  const user = serverUser('redis')
  const log = join(how.folder, 'log')
  give(how.folder, user)
  const args = ['--port', String(how.port), '--bind', '127.0.0.1', '--dir', how.folder, ...settings(how)]
  const start = () => Daemon.start(user, [program, ...args], REDIS_READY, log)
  let daemon = await start()
  return {
    log,
    end: () => daemon.end(END),
    kill: () => daemon.end('SIGKILL'),
    again: async () => {
      daemon = await start()
    },
  }
}

async function startCluster(how: Start): Promise<Server> {
  if ('image' in how.by) throw new Error('A Redis Cluster is not started by Docker.')
  const { 'redis-server': program = '', 'redis-cli': cli = '' } = how.by.programs
  const user = serverUser('redis')
  const log = join(how.folder, 'log')
  give(how.folder, user)
  const ports = [how.port, await freePort(), await freePort()]
  const starts: (() => Promise<Daemon>)[] = []
  for (const port of ports) {
    const folder = join(how.folder, String(port))
    mkdirSync(folder)
    give(folder, user)
    const args = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, ...settings(how)]
    const bus = [
      '--cluster-enabled',
      'yes',
      '--cluster-port',
      String(await freePort()),
      '--cluster-node-timeout',
      '2000',
    ]
    starts.push(() => Daemon.start(user, [program, ...args, ...bus], REDIS_READY, log))
  }
  let daemons = await Promise.all(starts.map((start) => start()))
  const end = (signal: NodeJS.Signals) => Promise.all(daemons.map((daemon) => daemon.end(signal)))
  try {
    const nodes = ports.map((port) => `127.0.0.1:${port}`)
    runAs(user, cli, ['--cluster', 'create', ...nodes, '--cluster-replicas', '0', '--cluster-yes'])
  } catch (error) {
    await end('SIGKILL')
    throw error
  }
  return {
    url: `redis://127.0.0.1:${how.port}`,
    log,
    end: async () => void (await end(END)),
    kill: async () => void (await end('SIGKILL')),
    again: async () => {
      daemons = await Promise.all(starts.map((start) => start()))
    },
  }
}
