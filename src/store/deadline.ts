/** What a wait ends with when its time is up; what was waited for may still happen. */
export class TooLate extends Error {
  constructor(readonly ms: number) {
    super(`no answer in ${ms} ms`)
  }
}

/** Ends the waiting, not what is waited for. */
export class Deadline {
  readonly #late: Promise<never>
  readonly #timer: NodeJS.Timeout

  constructor(ms: number) {
    let tooLate = () => {}
    this.#late = new Promise((_, reject) => {
      tooLate = () => reject(new TooLate(ms))
    })
    this.#late.catch(() => undefined)
    this.#timer = setTimeout(tooLate, ms).unref()
  }

  race<T>(what: Promise<T>): Promise<T> {
    return Promise.race([what, this.#late])
  }

  end(): void {
    clearTimeout(this.#timer)
  }
}
