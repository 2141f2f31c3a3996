export type { RunJobRequest } from './bench.js'
export { type ProcessView, VirtualClock, VirtualProcess } from './clock.js'
export { type EffectDatabase, effectConformance, type PoolOptions, type TestApi } from './effect/index.js'
export { type Fate, faultyStore, type StoreCall, type Wire } from './faulty-store.js'
export { ManualClock } from './manual-clock.js'
export { type SimulateOptions, type SimulationReport, simulate } from './simulation/simulate.js'
export { type OpenPlace, type StoreCapabilities, type StorePlace, storeConformance } from './store/index.js'
export {
  advance,
  createTestFleet,
  runJob,
  type TestApplication,
  type TestFleetOptions,
  type TestingBuilder,
  useTestFleet,
} from './test-fleet.js'
