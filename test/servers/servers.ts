import { type Child, start } from '../children.js'
import type { Order, Told } from './warden.js'

type Answer = { told?: Told; error?: string }

/** The process that has the servers; it ends them when it hears no more of this one. */
export class Servers {
  readonly #child: Child
  readonly #waiting = new Map<number, (answer: Answer) => void>()
  #number = 0

  private constructor(child: Child) {
    this.#child = child
    void this.#listen()
  }

  /** Starts the warden from its bundled script. */
  static start(script: string): Servers {
    return new Servers(start(script, []))
  }

  async ask(order: Order): Promise<Told> {
    const number = ++this.#number
    const answered = new Promise<Answer>((resolve) => this.#waiting.set(number, resolve))
    this.#child.process.stdin?.write(`${JSON.stringify({ number, order })}\n`)
    const { told, error } = await answered
    if (told === undefined) throw new Error(error)
    return told
  }

  async end(): Promise<void> {
    this.#child.process.stdin?.end()
    await this.#child.ended()
  }

  async #listen(): Promise<void> {
    for (let next = await this.#child.lines.next(); !next.done; next = await this.#child.lines.next()) {
      const { number, ...answer } = JSON.parse(String(next.value)) as { number: number }
      this.#waiting.get(number)?.(answer)
      this.#waiting.delete(number)
    }
    const { errors } = await this.#child.ended()
    for (const answer of this.#waiting.values()) answer({ error: `The process that has the servers ended: ${errors}` })
  }
}
