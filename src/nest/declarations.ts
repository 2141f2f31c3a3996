import type { JobOptions } from '../fleet/job-options.js'

/** One `@Cron` on one method. */
export interface Declaration {
  readonly method: string | symbol
  /** Null: the job is named after its class and method. */
  readonly name: string | null
  readonly options: JobOptions
}

/**
 * What decorators said, by the class's prototype. It is not kept as metadata of the function: a decorator that wraps the
 * method would lose it there, and an explorer of another library could see it. One book per process, also where several
 * copies of the package are loaded.
 */
type Book = WeakMap<object, Declaration[]>

const BOOK = Symbol.for('fleetcron/nest/declarations')

function book(): Book {
  const shared = globalThis as { [BOOK]?: Book }
  shared[BOOK] ??= new WeakMap()
  return shared[BOOK]
}

export function declare(prototype: object, declaration: Declaration): void {
  const known = book().get(prototype) ?? []
  // Decorators of one method are applied from the last line up; people read them down.
  book().set(prototype, [declaration, ...known])
}

/** What holds for an instance's class: its own declarations and those it inherits, the class's own first. */
export function declarationsOf(prototype: object | null): { declaration: Declaration; owner: object }[] {
  const found: { declaration: Declaration; owner: object }[] = []
  for (let owner = prototype; owner !== null; owner = Object.getPrototypeOf(owner)) {
    const here = owner
    found.push(...(book().get(here) ?? []).map((declaration) => ({ declaration, owner: here })))
  }
  return found
}
