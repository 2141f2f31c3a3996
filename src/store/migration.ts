/**
 * What a ledger's schema is, and what it lacks. Stores that have a schema offer this beside the port; it opens and
 * changes nothing.
 */
export interface Migration {
  /** Version found; null: there is none yet. */
  readonly from: number | null
  /** Version that this release of fleetcron makes. */
  readonly to: number
  /** What brings it there, in the words of the store; empty where nothing is missing. */
  readonly sql: string
}

export interface Migratable {
  migration(): Promise<Migration>
}

/** The migration of a store that has one; null where there is no schema to speak of. */
export function migrationOf(store: object): Promise<Migration> | null {
  return 'migration' in store ? (store as Migratable).migration() : null
}
