import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, appendFileSync, chownSync, constants, readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { delimiter, join } from 'node:path'
import { createInterface } from 'node:readline'

/** Where this machine has a program: on the PATH, or in a folder whose name may hold one `*`; the greatest version wins. */
export function findProgram(name: string, folders: readonly string[]): string | null {
  const places = [...folders.flatMap(spread), ...(process.env.PATH ?? '').split(delimiter)]
  return places.map((folder) => join(folder, name)).find(isExecutable) ?? null
}

/** All of these programs, from folders of their own or the PATH; null where one is missing. */
export function findPrograms<Name extends string>(
  names: readonly Name[],
  folders: readonly string[],
): Record<Name, string> | null {
  const found = names.map((name) => [name, findProgram(name, folders)] as const)
  return found.every(([, path]) => path !== null) ? (Object.fromEntries(found) as Record<Name, string>) : null
}

function spread(pattern: string): string[] {
  const [before = '', after] = pattern.split('*')
  if (after === undefined) return [pattern]
  try {
    const names = readdirSync(before).sort((a, b) => b.localeCompare(a, 'en', { numeric: true }))
    return names.map((name) => `${before}${name}${after}`)
  } catch {
    return []
  }
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

export interface User {
  readonly uid: number
  readonly gid: number
}

/** Servers refuse to run as root: where the tests do, they run as the first of these users that exists. */
export function serverUser(...names: string[]): User | null {
  if (process.getuid?.() !== 0) return null
  const lines = readFileSync('/etc/passwd', 'utf8').split('\n')
  for (const name of [...names, 'nobody']) {
    const [, , uid, gid] = lines.find((line) => line.startsWith(`${name}:`))?.split(':') ?? []
    if (uid !== undefined && gid !== undefined) return { uid: Number(uid), gid: Number(gid) }
  }
  throw new Error('The tests run as root, and there is no unprivileged user for the servers: add one named postgres.')
}

/** Gives a folder or file to the user that servers run as. */
export function give(path: string, user: User | null): void {
  if (user) chownSync(path, user.uid, user.gid)
}

/** Runs a program to its end; fails with what it wrote. */
export function runAs(
  user: User | null,
  program: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
): string {
  try {
    return execFileSync(program, args, { ...user, env: { ...process.env, ...env }, encoding: 'utf8', stdio: 'pipe' })
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string }
    throw new Error(`${program} ${args.join(' ')} failed: ${stderr || stdout || error}`)
  }
}

/** A program that goes on until it is ended; what it writes goes to a file. */
export class Daemon {
  readonly #child: ChildProcess
  readonly #ended: Promise<unknown>

  private constructor(child: ChildProcess) {
    this.#child = child
    this.#ended = once(child, 'exit')
  }

  /** Starts it and waits for the line by which it says that it answers. */
  static async start(
    user: User | null,
    command: readonly [program: string, ...args: string[]],
    ready: RegExp,
    log: string,
  ): Promise<Daemon> {
    const [program, ...args] = command
    const child = spawn(program, args, { ...user, stdio: ['ignore', 'pipe', 'pipe'] })
    const daemon = new Daemon(child)
    const lines: string[] = []
    await new Promise<void>((resolve, reject) => {
      for (const stream of [child.stdout, child.stderr]) {
        createInterface({ input: stream }).on('line', (line) => {
          appendFileSync(log, `${line}\n`)
          lines.push(line)
          if (ready.test(line)) resolve()
        })
      }
      child.once('error', reject)
      child.once('exit', (code, signal) => {
        reject(new Error(`${program} ended (${code ?? signal}) before it was ready: ${lines.slice(-10).join('\n')}`))
      })
    })
    return daemon
  }

  /** Sends a signal and waits for the end. */
  async end(signal: NodeJS.Signals): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) this.#child.kill(signal)
    await this.#ended
  }
}

/** A port on the loopback that nobody uses just now. */
export async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as { port: number }
  probe.close()
  await once(probe, 'close')
  return port
}
