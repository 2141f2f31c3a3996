import { Module, type ModuleMetadata } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import type { Fleet } from '../../src/fleet/fleet.js'
import type { FleetNamedOptions } from '../../src/nest/options.js'
import { FLEET } from '../../src/nest/tokens.js'

/** An expression that never comes while a test runs. */
export const NEVER = '0 0 29 2 *'

export const OPTIONS: FleetNamedOptions = { fleet: 'billing', store: 'memory:', logger: false }

/** What applications logged since it was made, as `level: line`. */
export class Lines {
  readonly all: string[] = []
  constructor() {
    current = this
  }
  readonly log = (line: unknown) => void this.all.push(`log: ${String(line)}`)
  readonly warn = (line: unknown) => void this.all.push(`warn: ${String(line)}`)
  readonly error = (line: unknown) => void this.all.push(`error: ${String(line)}`)
  of(level: 'log' | 'warn' | 'error', part: string): string[] {
    return this.all.filter((line) => line.startsWith(`${level}: `) && line.includes(part))
  }
}

let current: Lines | null = null

/** A real application without a web server. */
export async function startApplication(metadata: ModuleMetadata) {
  @Module(metadata)
  class AppModule {}
  return NestFactory.createApplicationContext(AppModule, { logger: current ?? false, abortOnError: false })
}

/** Triggers a job and gives what its handler returned. */
export async function resultOf(fleet: Fleet, job: string): Promise<unknown> {
  const run = await fleet.trigger(job)
  const { result, error } = await fleet.finished(run)
  return result === null ? error : JSON.parse(result)
}

export function fleetOf(app: { get(token: symbol): unknown }): Fleet {
  return app.get(FLEET) as Fleet
}
