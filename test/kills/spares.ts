import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Turn, WorkerConfig } from './points.js'

/** So many processes are up and connected before their turn comes: a start takes longer than what a process does. */
const SPARES = 3

export interface Going {
  kill(): void
  /** How it ended. */
  readonly ended: Promise<readonly [number | null, NodeJS.Signals | null]>
}

/** Workers that have been started and wait for their turn. */
export class Spares {
  readonly #script: string
  readonly #config: WorkerConfig
  readonly #waiting: ChildProcess[] = []

  constructor(script: string, config: WorkerConfig) {
    this.#script = script
    this.#config = config
  }

  /** The next worker is given its turn; each line that it writes is told. */
  go(turn: Turn, told: (line: string) => void): Going {
    while (this.#waiting.length <= SPARES) this.#waiting.push(this.#start())
    const child = this.#waiting.shift() as ChildProcess
    const ended = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>
    const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', told)
    const read = once(lines, 'close')
    child.stdin?.on('error', () => {})
    child.stdin?.write(`${JSON.stringify(turn)}\n`)
    return {
      kill: () => void child.kill('SIGKILL'),
      // What it wrote is read to its end: its last line says where it died.
      ended: Promise.all([ended, read]).then(([how]) => how),
    }
  }

  /** Ends those whose turn has not come. */
  end(): void {
    for (const child of this.#waiting) child.kill('SIGKILL')
  }

  #start(): ChildProcess {
    const args = [this.#script, JSON.stringify(this.#config)]
    return spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  }
}
