import type { Fleet } from '../fleet/fleet.js'

/** Lines of a run that comes before anybody has asked for it. */
const KEPT = 100

/** What handlers of one job write with `run.log` on this node, for the BullMQ job that stands for the run. */
export class Lines {
  private readonly early: { readonly key: string; readonly line: string }[] = []
  private key: string | null = null
  private write: (line: string) => void = () => {}
  private readonly offs: readonly (() => void)[]

  /** @param job the ledger's id */
  constructor(fleet: Fleet, job: string) {
    this.offs = [
      fleet.on('run-started', (ref) =>
        this.take(job, ref, `attempt ${ref.attempt} on ${ref.run.attempts.at(-1)?.node}`),
      ),
      fleet.on('run-logged', (ref) => this.take(job, ref, lineOf(ref.message, ref.fields))),
    ]
  }

  /** Says which run it is, and where its lines go: those that were there before too. */
  of(key: string, write: (line: string) => void): void {
    this.key = key
    this.write = write
    for (const one of this.early.splice(0)) if (one.key === key) write(one.line)
  }

  end(): void {
    for (const off of this.offs) off()
  }

  private take(job: string, ref: { readonly job: string; readonly key: string }, line: string): void {
    if (ref.job !== job) return
    if (this.key === ref.key) this.write(line)
    else if (this.key === null && this.early.length < KEPT) this.early.push({ key: ref.key, line })
  }
}

function lineOf(message: string, fields: Readonly<Record<string, unknown>>): string {
  if (Object.keys(fields).length === 0) return message
  try {
    return `${message} ${JSON.stringify(fields)}`
  } catch {
    return message
  }
}
