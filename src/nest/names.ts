import { FleetcronError } from '../errors.js'
import type { Found } from './explorer.js'

/** A job of the fleet with the name that the fleet knows it by. */
export interface Named {
  readonly name: string
  /** Nobody named it: it is called after its class and method. */
  readonly unnamed: boolean
  readonly found: Found
}

/** What minifiers leave of a class's name. */
const MINIFIED = /^(|[A-Za-z$_][A-Za-z0-9$_]?|_[a-z].*)$/

/** What a job is called in the fleet, and in the module's `jobs`. */
export function nameOf({ declaration, className }: Found): string {
  return declaration.name ?? `${className}.${String(declaration.method)}`
}

/**
 * Names the fleet's jobs. Two instances of one class are one job: what they do is the same, and the first one does it.
 *
 * @throws FleetcronError `JOB_DUPLICATE` for one name in two places; `OPTION_INVALID` for a name that a minifier made
 */
export function nameJobs(found: readonly Found[], warn: (line: string) => void): Named[] {
  const jobs = new Map<string, Named>()
  for (const one of found) {
    const unnamed = one.declaration.name === null
    if (unnamed && MINIFIED.test(one.className)) throw minified(one)
    const name = nameOf(one)
    const other = jobs.get(name)
    if (other === undefined) jobs.set(name, { name, unnamed, found: one })
    else if (isSame(other.found, one)) warn(secondInstance(name, one))
    else throw duplicate(name, other.found, one)
  }
  return [...jobs.values()]
}

function isSame(first: Found, second: Found): boolean {
  return (
    first.instance !== second.instance &&
    first.declaration === second.declaration &&
    first.prototype === second.prototype
  )
}

function secondInstance(name: string, { className, place }: Found): string {
  return (
    `${className} is provided more than once; job '${name}' (${place}) is one job all the same, and the first instance ` +
    'runs it. Provide the class once, or write useExisting.'
  )
}

function minified({ place, className }: Found): FleetcronError {
  return new FleetcronError(
    'OPTION_INVALID',
    `The job at ${place} has no name, and its class is called '${className}', which looks minified: another build would ` +
      "make another job of it. Give it a name: @Cron(…, { name: 'daily-invoices' }).",
  )
}

function duplicate(name: string, first: Found, second: Found): FleetcronError {
  const places = first.place === second.place ? `${first.place}, twice` : `${first.place} and ${second.place}`
  return new FleetcronError(
    'JOB_DUPLICATE',
    `Two jobs are named '${name}': ${places}. A fleet knows its jobs by name: give each a \`name\` of its own.`,
  )
}

/** The lines to paste where jobs are called after their class and method. Null: all have names. */
export function namesToPaste(jobs: readonly Named[]): string | null {
  const lines = jobs.filter(({ unnamed }) => unnamed).map(({ name, found }) => `  ${found.place}: { name: '${name}' }`)
  if (lines.length === 0) return null
  return `jobs called after their class and method; paste the name, so that renaming either keeps the job:\n${lines.join('\n')}`
}
