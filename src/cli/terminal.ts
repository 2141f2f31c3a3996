/** What the command line touches of the process. */
export interface Terminal {
  out(text: string): void
  err(text: string): void
  /** Epoch milliseconds. */
  now(): number
  /** The zone of the process, IANA name. */
  hostZone(): string
  /** Who runs it, for the record of events. */
  user(): string
  /** Resolves when the process is asked to stop: SIGTERM or SIGINT. */
  stopped(): Promise<void>
}

export function printJson(terminal: Terminal, value: unknown): void {
  terminal.out(`${JSON.stringify(value, null, 2)}\n`)
}
