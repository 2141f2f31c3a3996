import { execFileSync } from 'node:child_process'
import type { Server } from './engine.js'
import { Daemon } from './processes.js'

/** Whether a Docker engine answers here. */
export function hasDocker(): boolean {
  try {
    execFileSync('docker', ['info'], { stdio: 'ignore', timeout: 10_000 })
    return true
  } catch {
    return false
  }
}

/** Starts a container in the foreground of a process of ours, so that its lines are heard and its end is noticed. */
export async function startContainer(
  args: readonly string[],
  ready: RegExp,
  log: string,
): Promise<Omit<Server, 'url'>> {
  const name = `fleetcron-${process.pid}-${Date.now()}`
  // An image that sets itself up first says twice that it is ready: what counts is the port that is published at last.
  let daemon = await Daemon.start(null, ['docker', 'run', '--init', '--name', name, ...args], ready, log)
  const docker = (...words: string[]) => execFileSync('docker', words, { stdio: 'ignore' })
  return {
    log,
    end: async () => {
      docker('stop', name)
      await daemon.end('SIGTERM')
      docker('rm', '--force', name)
    },
    kill: async () => {
      docker('kill', name)
      await daemon.end('SIGTERM')
    },
    again: async () => {
      daemon = await Daemon.start(null, ['docker', 'start', '--attach', name], ready, log)
    },
  }
}
