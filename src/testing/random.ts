/**
 * A seeded source of chance. The same seed gives the same numbers on every machine, which is what lets one number replay
 * a whole simulation. Streams that are forked by a word do not disturb each other: what one node draws never depends on
 * how often another one drew.
 */
export class Random {
  #a: number
  #b: number
  #c: number
  #counter = 1

  constructor(readonly seed: string | number) {
    const text = String(seed)
    this.#a = fnv(text, 0x811c9dc5)
    this.#b = fnv(text, 0x9e3779b9)
    this.#c = fnv(text, 0x85ebca6b)
    for (let warm = 0; warm < 12; warm += 1) this.#next()
  }

  /** A stream of its own, fixed by this one's seed and the word. */
  fork(word: string): Random {
    return new Random(`${this.seed}/${word}`)
  }

  /** Uniform in [0, 1). */
  unit(): number {
    return this.#next() / 0x1_0000_0000
  }

  /** A whole number from `from` to `to`, both included. */
  int(from: number, to: number): number {
    return from + Math.floor(this.unit() * (to - from + 1))
  }

  chance(probability: number): boolean {
    return this.unit() < probability
  }

  pick<T>(choices: readonly [T, ...T[]] | readonly T[]): T {
    const choice = choices[Math.floor(this.unit() * choices.length)]
    if (choices.length === 0) throw new Error('there is nothing to pick from')
    return choice as T
  }

  /** Twelve hexadecimal digits: an id that is random enough and the same on every replay. */
  id(): string {
    const high = this.#next().toString(16).padStart(8, '0')
    return `${high}${(this.#next() & 0xffff).toString(16).padStart(4, '0')}`
  }

  /** Small fast counter (sfc32). */
  #next(): number {
    const sum = (this.#a + this.#b + this.#counter) | 0
    this.#counter = (this.#counter + 1) | 0
    this.#a = this.#b ^ (this.#b >>> 9)
    this.#b = (this.#c + (this.#c << 3)) | 0
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) + sum
    this.#c |= 0
    return sum >>> 0
  }
}

function fnv(text: string, basis: number): number {
  let hash = basis
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  }
  return hash | 0
}
