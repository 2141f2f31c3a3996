import { Inject } from '@nestjs/common'

/** Where the application's `Fleet` is found; the same for every copy of the package. */
export const FLEET: unique symbol = Symbol.for('fleetcron/nest/fleet') as never
export const FLEET_OPTIONS: unique symbol = Symbol.for('fleetcron/nest/options') as never

/** Injects the application's `Fleet`: to trigger, pause and look at jobs. */
export function InjectFleet(): ParameterDecorator & PropertyDecorator {
  return Inject(FLEET)
}
