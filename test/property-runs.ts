/**
 * How often a property is tried. Mutation testing tries each far less often, for each of thousands of mutants:
 * FLEETCRON_PROPERTY_SCALE=0.05.
 */
export function propertyRuns(usual: number): number {
  return Math.max(3, Math.round(usual * Number(process.env.FLEETCRON_PROPERTY_SCALE ?? 1)))
}
