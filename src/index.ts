export type {
  CallOptions,
  Calls,
  Found,
  ProviderCall,
  Resolution,
  ResolvedCall,
  UncertainEffect,
} from './effect/call/face.js'
export { createEffects } from './effect/effects.js'
export { Rejected, RetryTransaction, StaleTokenError, UncertainError } from './effect/errors.js'
export { type FencedBy, type FencedSender, fencedFetch, fencingHeaders } from './effect/fencing.js'
export type {
  BoundEffects,
  EffectAdapter,
  EffectOptions,
  Effects,
  Kept,
  OnceOptions,
  PrunedPage,
  PrunePage,
  Register,
  TxOf,
} from './effect/port.js'
export {
  type FencingAnswer,
  type FencingRefusal,
  type ReceivedFence,
  type ReceivedRequest,
  type ReceiveOptions,
  receiveFenced,
} from './effect/receive.js'
export { ERROR_CODES, type ErrorCode, FleetcronError } from './errors.js'
export type { Clock, Timer } from './fleet/clock.js'
export type { Asking, RunRef, TriggerRequest } from './fleet/commands.js'
export type { AbortKind, AttemptRef, FleetEventName, FleetEvents } from './fleet/events.js'
export { createFleet, type Fleet, type Handler } from './fleet/fleet.js'
export { defineHandler, type HandlerDefinition, type HandlerOptions, type RunOf } from './fleet/handlers.js'
export type { Health, RunHealth } from './fleet/health.js'
export type { CatchUpInput, JobOptions, JobPolicies, RetryInput } from './fleet/job-options.js'
export type { Logger } from './fleet/log.js'
export type { JobView } from './fleet/lookups.js'
export type { Duration } from './fleet/option-values.js'
export type { FleetOptions } from './fleet/options.js'
export type { PokeRequest } from './fleet/pokes.js'
export { currentRun, type Run, type RunOccurrence } from './fleet/run.js'
export type { ScheduleAnswer, ScheduleRequest, Schedules, ScheduleView } from './fleet/schedules.js'
export { RunAborted } from './fleet/signal.js'
export type { Cause, Covers, LedgerEvent, Run as RunRecord, RunState } from './ledger/types.js'
export type { Store, StoreInfo } from './store/port.js'
