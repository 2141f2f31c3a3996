/** A sorted list without duplicates, kept as an array: fast for what a job's lanes and a bucket's wake-ups hold. */
export class SortedList<T> {
  readonly #items: T[] = []
  readonly #compare: (a: T, b: T) => number

  constructor(compare: (a: T, b: T) => number) {
    this.#compare = compare
  }

  get size(): number {
    return this.#items.length
  }

  add(item: T): void {
    const last = this.#items.at(-1)
    if (last === undefined || this.#compare(last, item) < 0) this.#items.push(item)
    else this.#items.splice(this.#place(item), 0, item)
  }

  remove(item: T): void {
    const place = this.#place(item)
    const found = this.#items[place]
    if (found !== undefined && this.#compare(found, item) === 0) this.#items.splice(place, 1)
  }

  /** The first items, at most `limit`. */
  first(limit: number): readonly T[] {
    return this.#items.slice(0, limit)
  }

  /** Items after `item`, which need not be in the list, at most `limit`, while `accept` says yes. */
  after(item: T | null, limit: number, accept: (item: T) => boolean): T[] {
    const taken: T[] = []
    for (let place = item === null ? 0 : this.#after(item); place < this.#items.length; place++) {
      const next = this.#items[place]
      if (next === undefined || taken.length >= limit || !accept(next)) break
      taken.push(next)
    }
    return taken
  }

  #after(item: T): number {
    const place = this.#place(item)
    const found = this.#items[place]
    return found !== undefined && this.#compare(found, item) === 0 ? place + 1 : place
  }

  /** Where the first item stands that is not before `item`. */
  #place(item: T): number {
    let low = 0
    let high = this.#items.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#compare(this.#items[middle] as T, item) < 0) low = middle + 1
      else high = middle
    }
    return low
  }
}
