// Stands in for the asynchronous contexts of `currentRun()` and of effects, which no handler of the simulation asks for.
// The real ones make Node 20 call a hook for each promise, and a simulation is made of promises. To be imported first.
class Context {
  #store

  run(store, fn, ...args) {
    const before = this.#store
    this.#store = store
    try {
      return fn(...args)
    } finally {
      this.#store = before
    }
  }

  getStore() {
    return this.#store
  }
}

for (const name of ['fleetcron/currentRun', 'fleetcron/effect-scope']) globalThis[Symbol.for(name)] = new Context()
