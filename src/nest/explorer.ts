import { ContextIdFactory, type DiscoveryService, type ModuleRef } from '@nestjs/core'
import type { Run } from '../fleet/run.js'
import { type Declaration, declarationsOf } from './declarations.js'

/** One declaration on one provider or controller of the application. */
export interface Found {
  readonly declaration: Declaration
  readonly wrapper: Wrapper
  readonly instance: object
  readonly prototype: object
  /** The class's name; empty where it has none. */
  readonly className: string
  /** `Class.method`, for people. */
  readonly place: string
  /** False: a provider that is made for each request. */
  readonly isStatic: boolean
}

export type Wrapper = ReturnType<DiscoveryService['getProviders']>[number]

/** Every provider and controller once, however many tokens lead to it; a prototype is needed for methods. */
export function instancesOf(discovery: DiscoveryService): { wrapper: Wrapper; instance: object; prototype: object }[] {
  const seen = new Set<object>()
  return [...discovery.getControllers(), ...discovery.getProviders()].flatMap((wrapper) => {
    const { instance } = wrapper
    if (typeof instance !== 'object' || instance === null || seen.has(instance)) return []
    seen.add(instance)
    const prototype = Object.getPrototypeOf(instance) as object | null
    return prototype === null ? [] : [{ wrapper, instance, prototype }]
  })
}

/** Every declared job of the application's providers and controllers. */
export function findDeclared(discovery: DiscoveryService): Found[] {
  return instancesOf(discovery).flatMap(({ wrapper, instance, prototype }) =>
    declarationsOf(prototype).map(({ declaration }) => {
      const className = classNameOf(prototype)
      return {
        declaration,
        wrapper,
        instance,
        prototype,
        className,
        place: `${className === '' ? 'a class without a name' : className}.${String(declaration.method)}`,
        isStatic: wrapper.isDependencyTreeStatic(),
      }
    }),
  )
}

/** Compilers call a class that mentions itself `_Invoices`; it is still `Invoices`. */
export function classNameOf(prototype: object): string {
  const name: unknown = (prototype as { constructor?: { name?: unknown } }).constructor?.name
  return typeof name === 'string' ? name.replace(/^_(?=[A-Z][A-Za-z0-9]{2})/, '') : ''
}

/** Enough of what was found to call its method. */
type Callable = Pick<Found, 'instance' | 'isStatic' | 'wrapper'> & {
  readonly declaration: Pick<Declaration, 'method'>
}

/** What calls the method: on the instance there is, or on one made for this run, with the run as its request. */
export function handlerOf(found: Callable, moduleRef: ModuleRef): (run: Run<never>) => unknown {
  const { declaration, instance, isStatic, wrapper } = found
  // The method is looked up at each call, so that whatever wraps it by then takes part.
  const call = (target: unknown, run: Run<never>) =>
    (target as Record<string | symbol, (run: Run<never>) => unknown>)[declaration.method]?.(run)
  // What is there of a transient provider was never constructed: each who asks is given one of his own.
  if (isStatic && !wrapper.isTransient) return (run) => call(instance, run)
  return async (run) => {
    const contextId = ContextIdFactory.create()
    moduleRef.registerRequestByContextId(run, contextId)
    return call(await moduleRef.resolve(wrapper.token, contextId, { strict: false }), run)
  }
}
