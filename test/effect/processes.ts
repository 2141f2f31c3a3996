import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { build } from 'esbuild'
import type { Answer, Command } from './worker.js'

const root = join(import.meta.dirname, '../..')

/** Builds a worker into `folder`; gives its file. */
export async function buildWorker(folder: string, name: 'worker' | 'server-worker' = 'worker'): Promise<string> {
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  const outfile = join(folder, 'worker.mjs')
  const entry = join(import.meta.dirname, `${name}.ts`)
  await build({ entryPoints: [entry], outfile, bundle: true, platform: 'node', format: 'esm', packages: 'external' })
  return outfile
}

/** A real process that makes effects, and what can happen to one. */
export class Worker {
  readonly #process: ChildProcess
  readonly #lines: AsyncIterator<string>

  /** `business`: the file, or the URL, of its business database. */
  constructor(worker: string, business: string, label: string) {
    this.#process = spawn(process.execPath, [worker, business, label], { stdio: ['pipe', 'pipe', 'inherit'] })
    this.#lines = createInterface({ input: this.#process.stdout as NodeJS.ReadableStream })[Symbol.asyncIterator]()
  }

  /** Gives a command and awaits what is answered first, which may be `inside`. */
  async ask(command: Command): Promise<Answer> {
    this.#tell(JSON.stringify(command))
    return this.answer()
  }

  async answer(): Promise<Answer> {
    const { value, done } = await this.#lines.next()
    if (done) throw new Error('the process ended without an answer')
    return JSON.parse(value) as Answer
  }

  /** Lets it go on from inside its transaction. */
  goOn(): void {
    this.#tell('')
  }

  /** SIGKILL; awaits its end. */
  async kill(): Promise<void> {
    const ended = once(this.#process, 'exit')
    this.#process.kill('SIGKILL')
    await ended
  }

  /** SIGSTOP; returns when it stands. */
  async stop(): Promise<void> {
    this.#process.kill('SIGSTOP')
    while (this.#state() !== 'T') await new Promise((resolve) => setImmediate(resolve))
  }

  resume(): void {
    this.#process.kill('SIGCONT')
  }

  /** Ends it if it still lives. */
  async end(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return
    await this.kill()
  }

  #tell(line: string): void {
    this.#process.stdin?.write(`${line}\n`)
  }

  /** The letter by which Linux tells a process's state. */
  #state(): string | undefined {
    const [, afterName = ''] = readFileSync(`/proc/${this.#process.pid}/stat`, 'utf8').split(/\) (?=[A-Za-z] )/)
    return afterName[0]
  }
}
