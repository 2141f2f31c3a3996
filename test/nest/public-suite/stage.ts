import { type INestApplication, Logger, type Provider, type Type } from '@nestjs/common'
import type { SchedulerRegistry } from '@nestjs/schedule'
import { Test } from '@nestjs/testing'
import { vi } from 'vitest'
import type { AsyncOptions, Door, SuiteOptions } from './door.js'
import { servicesOf } from './services.js'

export interface Stage {
  readonly door: Door
  readonly services: ReturnType<typeof servicesOf>
  /** Puts an application together and turns to fake time, which begins at 2020-01-01T00:00Z. */
  compose(providers: readonly Provider[], options?: SuiteOptions | { readonly async: AsyncOptions }): Promise<Play>
}

export interface Play {
  readonly app: INestApplication
  readonly registry: SchedulerRegistry
  readonly warnings: unknown[][]
  get<T>(type: Type<T>): T
  init(): Promise<void>
  pass(ms: number): Promise<void>
  close(): Promise<void>
}

export const START = Date.UTC(2020, 0, 1)

/** One case at a time: whatever it composed is closed afterwards, with fake time passing meanwhile. */
export async function onStage(door: Door, act: (stage: Stage) => Promise<void>): Promise<void> {
  const plays: Play[] = []
  const stage: Stage = {
    door,
    services: servicesOf(door),
    compose: async (providers, options = {}) => {
      const play = await compose(door, providers, options)
      plays.push(play)
      return play
    },
  }
  try {
    await act(stage)
  } finally {
    for (const play of plays) await play.close()
    vi.useRealTimers()
    vi.restoreAllMocks()
  }
}

async function compose(
  door: Door,
  providers: readonly Provider[],
  options: SuiteOptions | { readonly async: AsyncOptions },
) {
  const imports = ['async' in options ? door.forRootAsync(options.async) : door.forRoot(options)]
  const module = await Test.createTestingModule({ imports, providers: [...providers] }).compile()
  const app = module.createNestApplication({ logger: false })
  const warnings: unknown[][] = []
  Logger.overrideLogger({
    log: () => undefined,
    error: () => undefined,
    warn: (...said: unknown[]) => warnings.push(said),
  })
  vi.useFakeTimers({ now: START })
  let closed: Promise<void> | null = null
  const play: Play = {
    app,
    registry: app.get(door.SchedulerRegistry),
    warnings,
    get: (type) => app.get(type),
    init: async () => void (await app.init()),
    pass: async (ms) => void (await vi.advanceTimersByTimeAsync(ms)),
    close: () => {
      closed ??= ending(app)
      return closed
    },
  }
  return play
}

/** A handler in flight may need time to end. */
async function ending(app: INestApplication): Promise<void> {
  let over = false
  const closing = app.close().finally(() => {
    over = true
  })
  for (let turns = 0; !over && turns < 200; turns += 1) await vi.advanceTimersByTimeAsync(turns < 20 ? 0 : 1_000)
  await closing
}
