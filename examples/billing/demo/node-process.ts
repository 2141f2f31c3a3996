import { type ChildProcess, execFileSync, fork } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream, existsSync, readFileSync, type WriteStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { type Config, toEnvironment } from '../shared/config.js'
import type { FromNode, ToNode } from '../shared/messages.js'

export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

export interface NodeProcessOptions {
  /** A letter, for people. */
  readonly name: string
  readonly script: string
  readonly config: Config
  /** File for what it prints; null: only the last lines are kept. */
  readonly log: string | null
  readonly heard: (message: FromNode) => void
  readonly exited: (exit: Exit) => void
}

const LINES_KEPT = 12

/** One process of the application. */
export class NodeProcess {
  readonly name: string
  readonly pid: number
  readonly release: string
  readonly exit: Promise<Exit>
  /** Whether its end is part of the play. */
  mayEnd = false
  ended = false
  private readonly child: ChildProcess
  private readonly lastLines: string[] = []

  constructor({ name, script, config, log, heard, exited }: NodeProcessOptions) {
    this.name = name
    this.release = config.release
    this.child = fork(script, [], {
      env: { ...process.env, ...toEnvironment(config), NO_COLOR: '1' },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      execArgv: [],
    })
    this.pid = this.child.pid ?? -1
    this.child.on('message', (message) => heard(message as FromNode))
    // A message that can no longer be delivered is no news: the exit is.
    this.child.on('error', (error) => this.keepLine(String(error)))
    this.readOutput(log === null ? null : createWriteStream(log, { flags: 'a' }))
    this.exit = once(this.child, 'exit').then(([code, signal]) => {
      this.ended = true
      exited({ code, signal })
      return { code, signal }
    })
  }

  signal(name: NodeJS.Signals): void {
    this.child.kill(name)
  }

  send(message: ToNode): void {
    this.child.send(message)
  }

  /** Its last lines of output, for the one who has to find out what went wrong. */
  output(): string {
    return this.lastLines.map((line) => `    ${line}`).join('\n')
  }

  /** Whether the process is stopped: a signal takes effect a little after it was sent. */
  isStopped(): boolean {
    return stateOf(this.pid).startsWith('T')
  }

  private readOutput(file: WriteStream | null): void {
    for (const stream of [this.child.stdout, this.child.stderr]) {
      if (stream === null) continue
      createInterface({ input: stream }).on('line', (line) => {
        this.keepLine(line)
        file?.write(`${line}\n`)
      })
    }
    if (file !== null) this.child.once('close', () => file.end())
  }

  private keepLine(line: string): void {
    this.lastLines.push(line)
    if (this.lastLines.length > LINES_KEPT) this.lastLines.shift()
  }
}

/** The letter that the operating system gives a process's state. */
function stateOf(pid: number): string {
  const stat = `/proc/${pid}/stat`
  if (existsSync(stat)) return readFileSync(stat, 'utf8').replace(/^.*\) /s, '')
  return execFileSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' }).trim()
}
