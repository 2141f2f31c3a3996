import { Inject } from '@nestjs/common'

/** Where the application's `Fleet` is found; the same for every copy of the package. */
export const FLEET: unique symbol = Symbol.for('fleetcron/nest/fleet') as never
export const FLEET_OPTIONS: unique symbol = Symbol.for('fleetcron/nest/options') as never
export const EFFECTS: unique symbol = Symbol.for('fleetcron/nest/effects') as never

/** Injects the application's `Fleet`: to trigger, pause and look at jobs. */
export function InjectFleet(): ParameterDecorator & PropertyDecorator {
  return Inject(FLEET)
}

/** Injects the business database's `Effects`: `effects.once(key, fn)` outside runs. */
export function InjectEffects(): ParameterDecorator & PropertyDecorator {
  return Inject(EFFECTS)
}

/** The module's resolved options, and the fleet itself, for the module's own parts. */
export const MODULE: unique symbol = Symbol.for('fleetcron/nest/module') as never
export const REAL_FLEET: unique symbol = Symbol.for('fleetcron/nest/real-fleet') as never

/**
 * The clock of a fleet that consists of this process alone, as in a test of the application; null: there may be more. What
 * runs on every node is such a fleet's too, and is kept in its ledger.
 */
export const SOLO: unique symbol = Symbol.for('fleetcron/nest/solo') as never
