const BOOT: unique symbol = Symbol.for('fleetcron/fleet/boot') as never

/** What a fleet knows of the application around it. */
export interface Boot {
  /** Whether the application still starts, although the fleet may have done so already. */
  goesOn: boolean
}

/** A fleet that tells of its application's start; each copy of the package finds it. */
export interface Booting {
  readonly [BOOT]: Boot
}

export { BOOT }

/** Says whether the application that holds the fleet still starts: so long schedules of earlier releases are not brought back. */
export function setBoot(fleet: object, goesOn: boolean): void {
  const boot = (fleet as Partial<Booting>)[BOOT]
  if (boot !== undefined) boot.goesOn = goesOn
}
