/** What a node of the demonstration and its parent tell each other over Node's IPC channel. */
export type FromNode =
  | { readonly type: 'ready' }
  | { readonly type: 'began'; readonly period: string; readonly attempt: number }
  | { readonly type: 'invoiced'; readonly period: string; readonly done: number; readonly of: number }
  | { readonly type: 'ended'; readonly period: string; readonly attempt: number; readonly outcome: string }
  /** A write that came too late: who refused it, and with which words. */
  | { readonly type: 'refused'; readonly period: string; readonly by: 'signal' | 'fence'; readonly why: string }
  | { readonly type: 'hurried' | 'paused' | 'resumed' }

/** The parent asks that nobody takes his time; that nothing begins any more, while what has begun is finished; or takes that back. */
export type ToNode = { readonly type: 'hurry' | 'pause' | 'resume' }

export function tell(message: FromNode): void {
  if (process.connected) process.send?.(message)
}

/** A period is told in about so many steps, however many customers there are. */
const STEPS = 250

/** Customers between two messages about a period's progress. */
export function stepOf(customers: number): number {
  return Math.ceil(customers / STEPS)
}

export function tellProgress(period: string, done: number, of: number): void {
  if (done % stepOf(of) === 0 || done === of) tell({ type: 'invoiced', period, done, of })
}

/** What is asked is done, and answered. An error ends the process, as it would anywhere. */
export function onRequest(type: ToNode['type'], act: () => Promise<FromNode>): void {
  process.on('message', async (message) => {
    if ((message as ToNode).type === type) tell(await act())
  })
}

/** A node that lost its parent has nobody to end it. */
export function endWithParent(): void {
  process.once('disconnect', () => process.exit(1))
}
