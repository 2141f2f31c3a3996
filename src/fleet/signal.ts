import type { AbortKind } from './events.js'

/** What `signal.reason` is, and what `signal.throwIfAborted()` throws. */
export class RunAborted extends Error {
  override readonly name = 'RunAborted'
  /** Also one of another copy of the package: an application may have loaded both formats. */
  static override [Symbol.hasInstance](value: unknown): value is RunAborted {
    return (
      typeof value === 'object' && value !== null && 'why' in value && 'name' in value && value.name === 'RunAborted'
    )
  }
  constructor(
    /** Why: the session was lost, the machine slept, the node stops, `timeout`, a cancel or replace, or the run is somebody else's. */
    readonly why: AbortKind,
    message: string,
  ) {
    super(message)
  }
}

export function abortReason(why: AbortKind, job: string, key: string, timeoutMs: number | null): RunAborted {
  const sentences: Readonly<Record<AbortKind, string>> = {
    session: "this node's session was lost, and another node may take the run over",
    suspend: 'this machine was suspended, and another node may have taken the run over',
    stop: 'this node stops, and another node takes the run over',
    timeout: `it has run for its timeout of ${timeoutMs} ms`,
    cancel: 'it was cancelled',
    replace: 'a newer occurrence replaces it',
    lost: 'the ledger gave it to somebody else',
  }
  return new RunAborted(why, `Job '${job}', run '${key}' has to end: ${sentences[why]}.`)
}
