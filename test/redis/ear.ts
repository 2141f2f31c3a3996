/** Wakes as they are told, one after the other. */
export class Ear {
  #heard: number[] = []
  #tell = () => {}

  readonly hear = (bucket: number): void => {
    this.#heard.push(bucket)
    this.#tell()
  }

  forget(): void {
    this.#heard = []
  }

  async next(): Promise<number> {
    while (this.#heard.length === 0) {
      await new Promise<void>((resolve) => {
        this.#tell = resolve
      })
    }
    return this.#heard.shift() ?? Number.NaN
  }
}
