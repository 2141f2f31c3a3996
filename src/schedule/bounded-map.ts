/** A map that forgets its oldest entry when it is full, for answers that can be computed again. */
export class BoundedMap<K, V> {
  private readonly entries = new Map<K, V>()

  constructor(private readonly limit: number) {}

  /** The stored value, or the computed one, which is then stored. A computation that throws stores nothing. */
  getOrCompute(key: K, compute: () => V): V {
    const found = this.entries.get(key)
    if (found !== undefined) return found
    const value = compute()
    if (this.entries.size >= this.limit) {
      const oldest = this.entries.keys().next()
      if (!oldest.done) this.entries.delete(oldest.value)
    }
    this.entries.set(key, value)
    return value
  }
}
