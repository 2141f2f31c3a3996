import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Engine, Server, Start } from './engine.js'
import { Daemon, findPrograms, freePort, give, serverUser } from './processes.js'
import { REDIS_FOLDERS, REDIS_READY } from './redis.js'

/** A master, a replica and a Sentinel that watches them as `main`; its URL is the Sentinel's. Killed and started is the master. */
export const REDIS_SENTINEL: Engine = {
  name: 'redis-sentinel',
  variable: null,
  packages: ['redis-server'],
  image: null,
  programs: () => findPrograms(['redis-server'], REDIS_FOLDERS),
  start: startWatched,
}

async function startWatched(how: Start): Promise<Server> {
  if ('image' in how.by) throw new Error('Redis Sentinel is not started by Docker.')
  const { 'redis-server': program = '' } = how.by.programs
  const user = serverUser('redis')
  const log = join(how.folder, 'log')
  give(how.folder, user)
  const [masterPort, replicaPort] = [await freePort(), await freePort()]
  const start = (port: number, ...more: string[]) => {
    const folder = join(how.folder, String(port))
    mkdirSync(folder, { recursive: true })
    give(folder, user)
    const args = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--save', '', ...more]
    return Daemon.start(user, [program, ...args], REDIS_READY, log)
  }
  let master = await start(masterPort)
  const replica = await start(
    replicaPort,
    '--replicaof',
    '127.0.0.1',
    String(masterPort),
    '--repl-diskless-sync-delay',
    '0',
  )
  const settings = join(how.folder, 'sentinel.conf')
  writeFileSync(
    settings,
    `port ${how.port}
bind 127.0.0.1
dir ${how.folder}
sentinel monitor main 127.0.0.1 ${masterPort} 1
sentinel down-after-milliseconds main 500
sentinel failover-timeout main 5000
`,
  )
  give(settings, user)
  const sentinel = await Daemon.start(user, [program, settings, '--sentinel'], /\+monitor master main/, log)
  return {
    url: `redis://127.0.0.1:${how.port}`,
    log,
    end: async () => {
      for (const daemon of [sentinel, replica, master]) await daemon.end('SIGKILL')
    },
    kill: () => master.end('SIGKILL'),
    again: async () => {
      master = await start(masterPort)
    },
  }
}
