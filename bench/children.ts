import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import type { Answer, FleetPlan, Order, Seen } from './plan.js'

/** A node process of the bench, as its parent has it. */
export class NodeProcess {
  readonly #child: ChildProcess
  readonly #waiting = new Map<number, { resolve: (answer: Answer) => void; reject: (error: Error) => void }>()
  #number = 0

  private constructor(child: ChildProcess) {
    this.#child = child
    child.on('message', (answer: Answer) => {
      const waiting = this.#waiting.get(answer.number)
      this.#waiting.delete(answer.number)
      if (answer.error === undefined) waiting?.resolve(answer)
      else waiting?.reject(new Error(`A node of the bench failed: ${answer.error}`))
    })
    child.once('exit', (code, signal) => {
      for (const { reject } of this.#waiting.values())
        reject(new Error(`A node of the bench ended (${code ?? signal}).`))
    })
  }

  static async start(script: string): Promise<NodeProcess> {
    const child = fork(script, [], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
    const node = new NodeProcess(child)
    await node.#answer(0)
    return node
  }

  /** Starts a node of a fleet in it. */
  async node(plan: FleetPlan): Promise<{ readonly ms: number; readonly rssMb: number }> {
    const { started = { ms: Number.NaN, rssMb: Number.NaN } } = await this.ask({ do: 'start', plan })
    return started
  }

  async take(): Promise<Seen> {
    const { seen = { starts: [], settled: [], statements: 0 } } = await this.ask({ do: 'take' })
    return seen
  }

  ask(order: Order): Promise<Answer> {
    this.#number += 1
    this.#child.send({ number: this.#number, order })
    return this.#answer(this.#number)
  }

  /** Stops its nodes in good order and ends it. */
  async end(): Promise<void> {
    await this.ask({ do: 'stop' })
    await this.signal('SIGKILL')
  }

  /** Sends it a signal; resolves when it has ended. */
  async signal(signal: NodeJS.Signals): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const ended = once(this.#child, 'exit')
    this.#child.kill(signal)
    await ended
  }

  #answer(number: number): Promise<Answer> {
    return new Promise((resolve, reject) => this.#waiting.set(number, { resolve, reject }))
  }
}

/** Starts so many processes, uses them, and ends them whatever happens. */
export async function withProcesses<T>(
  script: string,
  count: number,
  act: (nodes: readonly NodeProcess[]) => Promise<T>,
): Promise<T> {
  const nodes = await Promise.all(Array.from({ length: count }, () => NodeProcess.start(script)))
  try {
    const result = await act(nodes)
    await Promise.all(nodes.map((node) => node.end()))
    return result
  } finally {
    await Promise.all(nodes.map((node) => node.signal('SIGKILL')))
  }
}
