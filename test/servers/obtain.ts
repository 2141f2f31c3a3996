import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { hasDocker } from './docker.js'
import type { Engine, Server, Start } from './engine.js'
import { freePort } from './processes.js'

/** Somebody's own server, named by a variable of the environment; it is neither started nor ended here. */
export function givenServer(engine: Engine): Server | null {
  const url = engine.variable === null ? undefined : process.env[engine.variable]
  if (!url) return null
  const refuse = () => Promise.reject(new Error(`The server of ${engine.variable} is not the tests' to end.`))
  return { url, log: null, end: async () => {}, kill: refuse, again: refuse }
}

/** Starts a server of its own: from programs of this machine, else by Docker, else after installing what is missing. */
export async function startServer(engine: Engine, server: Start['server'], isDurable = true): Promise<Server> {
  const by = startedBy(engine)
  const folder = mkdtempSync(join(tmpdir(), `fleetcron-${engine.name}-`))
  const remove = () => rmSync(folder, { recursive: true, force: true })
  try {
    const started = await engine.start({ by, folder, port: await freePort(), isDurable, server })
    return { ...started, end: () => started.end().finally(remove) }
  } catch (error) {
    remove()
    throw error
  }
}

function startedBy(engine: Engine): Start['by'] {
  const there = engine.programs()
  if (there !== null) return { programs: there }
  if (engine.image !== null && hasDocker()) return { image: engine.image }
  install(engine)
  const programs = engine.programs()
  if (programs !== null) return { programs }
  throw new Error(howTo(engine, 'none of its programs is on this machine, and no Docker engine answers'))
}

/** Whether the list of packages was fetched by this process. */
let isListFresh = false

/** As root, or with a sudo that asks nothing. Services that a package would start are left alone by a run level of 1. */
function install(engine: Engine): void {
  const root = asRoot()
  if (root === null || engine.packages.length === 0 || !hasApt()) return
  const apt = (...words: string[]) => {
    const env = ['env', 'DEBIAN_FRONTEND=noninteractive', 'RUNLEVEL=1']
    // Somebody else who installs at this moment, a start-up script perhaps, is waited for.
    const [program = '', ...args] = [...root, ...env, 'apt-get', '-o', 'DPkg::Lock::Timeout=120', ...words]
    execFileSync(program, args, { stdio: ['ignore', 'ignore', 'pipe'] })
  }
  try {
    if (!isListFresh) apt('update', '-qq')
    isListFresh = true
    apt('install', '-y', '-qq', '--no-install-recommends', ...engine.packages)
  } catch (error) {
    throw new Error(howTo(engine, `apt-get could not install it (${error instanceof Error ? error.message : error})`))
  }
}

function asRoot(): readonly string[] | null {
  if (process.getuid?.() === 0) return []
  return works('sudo', '-n', 'true') ? ['sudo', '-n'] : null
}

function hasApt(): boolean {
  return works('apt-get', '--version')
}

function works(program: string, ...args: string[]): boolean {
  try {
    execFileSync(program, args, { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

function howTo(engine: Engine, why: string): string {
  const commands =
    engine.packages.length > 0
      ? `sudo apt-get install -y ${engine.packages.join(' ')}`
      : 'npm install (with optional packages)'
  const url = engine.variable === null ? '' : `, or set ${engine.variable}`
  return `The tests need a ${engine.name} server: ${why}. Run: ${commands}${url}, or leave it out with npm test -- --stores sqlite,memory.`
}
