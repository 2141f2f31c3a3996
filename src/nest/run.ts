import type { Run as FleetRun } from '../fleet/run.js'

/** What a handler is given. */
export type Run<Data = unknown> = FleetRun<Data>

/**
 * The same name as a value: a decorated method with a `run: Run` parameter needs one where `emitDecoratorMetadata` is on.
 * It is never constructed.
 */
export const Run: abstract new () => FleetRun = class Run {} as never
