import { once } from 'node:events'
import { ConsoleLogger, type DynamicModule, type LogLevel, Module, type Type } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { FleetcronError } from '../errors.js'
import type { Fleet } from '../fleet/fleet.js'
import { dueRequest } from '../platform/arguments.js'
import { type Due, Visit } from '../platform/due.js'
import { exitCode, Usage } from '../platform/exit.js'
import { codeOf, dueText, dueView, oneLine } from '../platform/told.js'
import type { ResolvedModule } from './options.js'
import { MODULE, REAL_FLEET } from './tokens.js'

/** What `NestFactory.createApplicationContext` takes, and how the process ends. */
export interface RunFleetJobOptions extends NonNullable<Parameters<typeof NestFactory.createApplicationContext>[1]> {
  /**
   * Whether the process ends within a second after the application has closed, whatever still holds it open, since a platform waits
   * for its end. Default true.
   */
  readonly leave?: boolean
}

/**
 * The main function of a process that a platform's scheduler starts for one job of an application: it starts the application
 * context, hosts that job alone, waits for an occurrence that is due soon, runs what is due, prints it, and closes the
 * context. The ledger decides: started twice, early or late, it changes nothing.
 *
 * Lines of the application go to stderr unless `logger` says otherwise. SIGTERM and SIGINT let the handler end for the module's
 * `drain`.
 *
 * @param argv the job's name, then `--occurrence <label>`, `--early 60s`, `--patience 60s`, `--json`; default: the process's
 * @returns the exit code, which is also set: 0 succeeded, done before, or nothing due; 1 failed; 2 the command line is not
 *   right; 75 it could not be coordinated, or was stopped before the end
 * @example
 * // job.ts, started as: node dist/job.js daily-invoices --early 60s
 * await runFleetJob(AppModule, process.argv.slice(2))
 */
export async function runFleetJob(
  AppModule: Type<unknown> | DynamicModule,
  argv: readonly string[] = process.argv.slice(2),
  options: RunFleetJobOptions = {},
): Promise<number> {
  const { leave = true, ...nest } = options
  let code: number
  try {
    const { json, ...request } = dueRequest(argv)
    const due = await visit(AppModule, (fleet) => new Visit(fleet, request), nest)
    process.stdout.write(json ? `${JSON.stringify(dueView(due), null, 2)}\n` : dueText(due))
    code = codeOf(due)
  } catch (error) {
    const told = oneLine(error instanceof Error ? error.message : String(error))
    if (error instanceof Usage) process.stdout.write(`${told}\n`)
    else process.stderr.write(`fleetcron: ${told}\n`)
    code = exitCode(error)
  }
  process.exitCode = code
  if (leave) setTimeout(() => process.exit(), LEAVE_MS).unref()
  return code
}

const LEAVE_MS = 1_000

async function visit(
  AppModule: Type<unknown> | DynamicModule,
  begin: (fleet: Fleet) => Visit,
  options: Parameters<typeof NestFactory.createApplicationContext>[1],
): Promise<Due> {
  const asked = new AbortController()
  const deafen = () => {
    for (const signal of SIGNALS) process.off(signal, ask)
  }
  const ask = (signal: NodeJS.Signals) => {
    // Whoever asks twice does not want to wait.
    if (asked.signal.aborted) {
      deafen()
      process.kill(process.pid, signal)
    }
    asked.abort()
  }
  // They stay until the end: a process of which nobody listens any more is ended by the signal, and not with its exit code.
  for (const signal of SIGNALS) process.on(signal, ask)
  const stopped = once(asked.signal, 'abort')
  const found: { visit?: Visit; fleet?: Fleet; drainMs?: number } = {}
  try {
    const root = rootOf(AppModule, (fleet, { drainMs }) =>
      Object.assign(found, { visit: begin(fleet), fleet, drainMs }),
    )
    const context = await NestFactory.createApplicationContext(root, {
      logger: new StderrLogger(),
      ...options,
      abortOnError: false,
    })
    try {
      const { visit, fleet, drainMs = 0 } = found
      if (visit === undefined || fleet === undefined) throw absent('imports no FleetModule')
      return await visit.run(stopped, () => fleet.stop({ grace: drainMs }))
    } finally {
      await context.close()
    }
  } finally {
    deafen()
  }
}

const SIGNALS = ['SIGTERM', 'SIGINT'] as const

/** Made of its one root; the fleet is told of the visit before any hook, so before it starts. */
@Module({})
class FleetJobModule {}

type Told = (fleet: Fleet, options: ResolvedModule) => void

function rootOf(AppModule: Type<unknown> | DynamicModule, tell: Told): DynamicModule {
  const provide = Symbol('fleetcron/nest/visit')
  const inject = [REAL_FLEET, MODULE].map((token) => ({ token, optional: true }))
  const useFactory = (fleet?: Fleet, options?: ResolvedModule) => {
    if (fleet === undefined || options === undefined) return null
    if (options.isLocal) throw absent('names no fleet: FleetModule.forRoot({ fleet, store })')
    tell(fleet, options)
    return null
  }
  return { module: FleetJobModule, imports: [AppModule], providers: [{ provide, inject, useFactory }] }
}

function absent(what: string): FleetcronError {
  const message = `The application ${what}; a platform's scheduler starts jobs of a fleet.`
  return new FleetcronError('OPTION_INVALID', message)
}

/** Stdout is for what became of the job. */
class StderrLogger extends ConsoleLogger {
  protected override printMessages(
    messages: unknown[],
    context?: string,
    level?: LogLevel,
    _?: 'stdout' | 'stderr',
    ...rest: [unknown?, Record<string, unknown>?]
  ): void {
    super.printMessages(messages, context, level, 'stderr', ...rest)
  }
}
