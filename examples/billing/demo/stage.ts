import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../shared/config.js'
import type { FromNode } from '../shared/messages.js'
import { type Exit, NodeProcess } from './node-process.js'

/** What a node said. */
export type Heard<Kind extends FromNode['type'] = FromNode['type']> = Extract<FromNode, { type: Kind }> & {
  readonly node: NodeProcess
}

/** The play did not go as it has to. */
export class DemoFailure extends Error {
  override readonly name = 'DemoFailure'
}

export interface StageOptions {
  readonly script: string
  readonly config: Omit<Config, 'release' | 'broken'>
  /** Folder for the nodes' output; null: it is not kept. */
  readonly logs: string | null
  readonly heard: (heard: Heard) => void
}

export interface Wish<Kind extends FromNode['type']> {
  /** Finishes the sentence "within 10 s nobody saw that …". */
  readonly what: string
  readonly withinMs: number
  /** A length that `history` had. */
  readonly since?: number
  readonly accept?: (heard: Heard<Kind>) => boolean
}

interface Waiting {
  readonly accept: (heard: Heard) => boolean
  readonly resolve: (heard: Heard) => void
  readonly reject: (error: Error) => void
}

/** The processes and what they tell. Nobody sleeps here: one waits for an event, for so long, or learns what went wrong. */
export class Stage {
  readonly nodes: NodeProcess[] = []
  /** Everything that was heard so far; its length is a moment of the play. */
  readonly history: Heard[] = []
  private readonly waiting = new Set<Waiting>()
  private failure: DemoFailure | null = null
  private over = false

  constructor(private readonly options: StageOptions) {}

  start(name: string, { release, broken = false }: { release: string; broken?: boolean }): NodeProcess {
    const { config, script, logs } = this.options
    if (logs !== null) mkdirSync(logs, { recursive: true })
    const node: NodeProcess = new NodeProcess({
      name,
      script,
      config: { ...config, release, broken },
      log: logs === null ? null : join(logs, `node-${name}.log`),
      heard: (message) => this.hear({ ...message, node }),
      exited: (exit) => this.sawExit(node, exit),
    })
    this.nodes.push(node)
    return node
  }

  /** Nodes that live. */
  living(): NodeProcess[] {
    return this.nodes.filter((node) => !node.ended)
  }

  byPid(pid: number): NodeProcess | undefined {
    return this.nodes.find((node) => node.pid === pid)
  }

  /** The first message of a kind, from now or an earlier moment on, that `accept` lets through. */
  next<Kind extends FromNode['type']>(type: Kind, wish: Wish<Kind>): Promise<Heard<Kind>> {
    const { what, withinMs, since = this.history.length, accept = () => true } = wish
    const wanted = (heard: Heard) => heard.type === type && accept(heard as Heard<Kind>)
    const found = this.history.slice(since).find(wanted)
    if (found !== undefined) return Promise.resolve(found as Heard<Kind>)
    return within(withinMs, what, (resolve, reject) => this.wait(wanted, resolve as (heard: Heard) => void, reject))
  }

  /** Waits for a process to end. */
  async end(node: NodeProcess, withinMs: number): Promise<Exit> {
    node.mayEnd = true
    return within(withinMs, `${node.name} (process ${node.pid}) ended`, (resolve, reject) => {
      void node.exit.then((exit) => {
        if (!this.over) resolve(exit)
      })
      const nothing = () => false
      return this.wait(nothing, () => undefined, reject)
    })
  }

  /** Ends everything that still lives, stopped processes too. Nothing is heard of any more: the play stands still. */
  async clear(): Promise<void> {
    this.over = true
    const living = this.living()
    for (const node of living) {
      node.mayEnd = true
      node.signal('SIGKILL')
    }
    await Promise.all(living.map((node) => node.exit))
  }

  /** Ends every wait with an error. */
  fail(failure: DemoFailure): void {
    this.failure ??= failure
    for (const one of [...this.waiting]) one.reject(failure)
  }

  private wait(accept: Waiting['accept'], resolve: Waiting['resolve'], reject: Waiting['reject']): () => void {
    const one = { accept, resolve, reject }
    if (this.failure === null) this.waiting.add(one)
    else reject(this.failure)
    return () => this.waiting.delete(one)
  }

  private hear(heard: Heard): void {
    if (this.over) return
    this.history.push(heard)
    this.options.heard(heard)
    for (const one of [...this.waiting]) if (one.accept(heard)) one.resolve(heard)
  }

  private sawExit(node: NodeProcess, { code, signal }: Exit): void {
    if (node.mayEnd) return
    const how = signal === null ? `with code ${code}` : `by ${signal}`
    this.fail(new DemoFailure(`${node.name} (process ${node.pid}) ended ${how}. Its last lines:\n${node.output()}`))
  }
}

/** A promise with a deadline; `begin` returns how to forget about it. */
function within<T>(
  ms: number,
  what: string,
  begin: (resolve: (value: T) => void, reject: (error: Error) => void) => () => void,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const settle = (act: () => void) => {
      clearTimeout(timer)
      forget()
      act()
    }
    const timer = setTimeout(
      () => settle(() => reject(new DemoFailure(`within ${Math.round(ms / 1000)} s nobody saw that ${what}`))),
      ms,
    )
    let forget: () => void = () => undefined
    forget = begin(
      (value) => settle(() => resolve(value)),
      (error) => settle(() => reject(error)),
    )
  })
}
