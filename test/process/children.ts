import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { build } from 'esbuild'
import type { NodeConfig } from './config.js'

export interface Said {
  readonly event: string
  readonly node: string
  readonly at: number
  readonly [field: string]: unknown
}

/** Bundles a script of this folder once; it lies below node_modules, so that it finds the drivers. */
export async function bundle(script: string): Promise<string> {
  const folder = join(import.meta.dirname, '../../node_modules/.cache/fleetcron')
  mkdirSync(folder, { recursive: true })
  const outfile = join(folder, `${script}-${process.pid}.mjs`)
  await build({
    entryPoints: [join(import.meta.dirname, `${script}.ts`)],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
    logLevel: 'error',
  })
  return outfile
}

/** A process under test: what it said so far, and a way to await what it says next. */
export class Child {
  readonly said: Said[] = []
  private readonly waiting: { event: string; resolve: (said: Said) => void; reject: (error: Error) => void }[] = []
  private readonly process: ChildProcess
  private log = ''
  private isOver = false
  private readonly exit: Promise<unknown>

  constructor(script: string, config: NodeConfig) {
    this.process = spawn(process.execPath, [script], {
      env: { ...process.env, NODE_CONFIG: JSON.stringify(config) },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    })
    this.process.stderr?.on('data', (chunk) => {
      this.log += chunk
    })
    this.exit = once(this.process, 'close').then(() => this.over())
    createInterface({ input: this.process.stdout as NodeJS.ReadableStream }).on('line', (text) => this.hear(text))
  }

  /** The first thing said with this word, now or later. */
  async next(event: string): Promise<Said> {
    const found = this.said.find((one) => one.event === event)
    if (found !== undefined) return found
    if (this.isOver) throw this.without(event)
    return new Promise((resolve, reject) => this.waiting.push({ event, resolve, reject }))
  }

  /** Tells a loaded process to start its node; `due` is the one occurrence, a UTC instant in ISO form. */
  start(due: string): void {
    this.process.send(due)
  }

  signal(name: 'SIGTERM' | 'SIGCONT' | 'SIGKILL'): void {
    this.process.kill(name)
  }

  /** Resolves when the process is gone; it is killed first where it would stay. */
  async gone(): Promise<void> {
    await this.exit
  }

  private hear(text: string): void {
    if (!text.startsWith('{')) return
    const said = JSON.parse(text) as Said
    this.said.push(said)
    for (const one of this.waiting.filter(({ event }) => event === said.event)) one.resolve(said)
  }

  private over(): void {
    this.isOver = true
    for (const { event, reject } of this.waiting) {
      if (!this.said.some((one) => one.event === event)) reject(this.without(event))
    }
  }

  private without(event: string): Error {
    const said = JSON.stringify(this.said)
    return new Error(`the process ended without '${event}'; it said ${said} and logged:\n${this.log}`)
  }
}
