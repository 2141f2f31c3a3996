/** How often each fault struck, and whatever else is counted. */
export class Tally {
  readonly counts = new Map<string, number>()

  count(what: string, by = 1): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + by)
  }

  add(other: ReadonlyMap<string, number> | Readonly<Record<string, number>>): void {
    const entries = other instanceof Map ? other : Object.entries(other)
    for (const [what, by] of entries) this.count(what, by)
  }
}
