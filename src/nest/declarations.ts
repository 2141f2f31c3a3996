import { FleetcronError } from '../errors.js'
import type { AnyJobOptions } from './job-words.js'

/** What the first argument of a decorator says. A luxon `DateTime` is known by its `toJSDate`. */
export type Timing =
  | { readonly kind: 'cron'; readonly cronTime: string | Date | DateLike }
  | { readonly kind: 'interval'; readonly ms: number }
  | { readonly kind: 'timeout'; readonly ms: number }

export interface DateLike {
  toJSDate(): Date
}

/** One decorator on one method. */
export interface Declaration {
  readonly method: string | symbol
  /** Null: the job is named after its class and method. */
  readonly name: string | null
  readonly timing: Timing
  readonly options: AnyJobOptions
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

/** @throws FleetcronError `OPTION_INVALID` for a static method: no provider has it, so nothing would ever call it */
export function declare(prototype: object, declaration: Declaration): void {
  if (typeof prototype === 'function') {
    const place = `${prototype.name}.${String(declaration.method)}`
    const message = `${place} is static: jobs are methods of providers, and nothing would call it. Leave static out.`
    throw new FleetcronError('OPTION_INVALID', message)
  }
  const known = book().get(prototype) ?? []
  // Decorators of one method are applied from the last line up; people read them down.
  book().set(prototype, [declaration, ...known])
}

/**
 * What holds for an instance's class: its own declarations and those it inherits, the class's own first. A method that
 * a nearer class overrides without a decorator of its own does not fire, as in @nestjs/schedule.
 */
export function declarationsOf(prototype: object | null): { declaration: Declaration; owner: object }[] {
  const found: { declaration: Declaration; owner: object }[] = []
  const overridden = new Set<string | symbol>()
  for (let owner = prototype; owner !== null; owner = Object.getPrototypeOf(owner)) {
    const here = owner
    for (const declaration of book().get(here) ?? []) {
      if (!overridden.has(declaration.method)) found.push({ declaration, owner: here })
    }
    for (const key of Reflect.ownKeys(here)) overridden.add(key)
  }
  return found
}
