/** A binary heap: `pop` gives the item that comes before all others. */
export class Heap<T> {
  readonly #items: T[] = []
  readonly #before: (a: T, b: T) => boolean

  constructor(before: (a: T, b: T) => boolean) {
    this.#before = before
  }

  get size(): number {
    return this.#items.length
  }

  peek(): T | undefined {
    return this.#items[0]
  }

  push(item: T): void {
    const items = this.#items
    let at = items.length
    items.push(item)
    while (at > 0) {
      const above = (at - 1) >> 1
      const parent = items[above] as T
      if (!this.#before(item, parent)) break
      items[at] = parent
      at = above
    }
    items[at] = item
  }

  pop(): T | undefined {
    const items = this.#items
    const top = items[0]
    const last = items.pop()
    if (items.length === 0 || last === undefined) return top
    let at = 0
    for (;;) {
      let below = 2 * at + 1
      if (below >= items.length) break
      const right = below + 1
      if (right < items.length && this.#before(items[right] as T, items[below] as T)) below = right
      const child = items[below] as T
      if (!this.#before(child, last)) break
      items[at] = child
      at = below
    }
    items[at] = last
    return top
  }
}
