import type { DiscoveryService } from '@nestjs/core'
import type { HandlerDefinition } from '../fleet/handlers.js'
import type { Run } from '../fleet/run.js'
import { classNameOf, type Found, instancesOf } from './explorer.js'

/** One `@Handler` on one method. */
interface HandlerDeclaration {
  readonly method: string | symbol
  readonly definition: HandlerDefinition<unknown>
}

/** What decorators said, by the class's prototype; one book per process, as for jobs (declarations.ts). */
type Book = WeakMap<object, HandlerDeclaration[]>

const BOOK = Symbol.for('fleetcron/nest/handlers')

function book(): Book {
  const shared = globalThis as { [BOOK]?: Book }
  shared[BOOK] ??= new WeakMap()
  return shared[BOOK]
}

/**
 * Does the work of the schedules in the store that name this handler: the method is given their runs, whose `data` it types.
 *
 * @example
 * const digest = defineHandler<{ tenantId: string }>('tenant-digest')
 * `@Handler(digest) async send(run: RunOf<typeof digest>) { run.data.tenantId }`
 */
export function Handler<Data>(definition: HandlerDefinition<Data>) {
  return <Method extends (run: Run<Data>) => unknown>(
    target: object,
    method: string | symbol,
    _descriptor: TypedPropertyDescriptor<Method>,
  ): void => {
    const known = book().get(target) ?? []
    book().set(target, [{ method, definition }, ...known])
  }
}

/** A handler on a provider or controller of the application. */
export interface FoundHandler {
  readonly definition: HandlerDefinition<unknown>
  readonly found: Pick<Found, 'instance' | 'isStatic' | 'wrapper'> & { readonly declaration: HandlerDeclaration }
  /** `Class.method`, for people. */
  readonly place: string
}

/** Every handler of the application, those that classes inherit too. */
export function findHandlers(discovery: DiscoveryService): FoundHandler[] {
  return instancesOf(discovery).flatMap(({ wrapper, instance, prototype }) =>
    declarationsOf(prototype).map((declaration) => ({
      definition: declaration.definition,
      found: { declaration, instance, wrapper, isStatic: wrapper.isDependencyTreeStatic() },
      place: `${classNameOf(prototype)}.${String(declaration.method)}`,
    })),
  )
}

/** A method that a nearer class overrides without a decorator of its own is no handler, as it is no job. */
function declarationsOf(prototype: object): HandlerDeclaration[] {
  const found: HandlerDeclaration[] = []
  const overridden = new Set<string | symbol>()
  for (let owner: object | null = prototype; owner !== null; owner = Object.getPrototypeOf(owner)) {
    found.push(...(book().get(owner) ?? []).filter(({ method }) => !overridden.has(method)))
    for (const key of Reflect.ownKeys(owner)) overridden.add(key)
  }
  return found
}
