import { parseArgs } from 'node:util'
import { CONTESTANTS } from './contestants.js'
import { rounded } from './figures.js'
import { measureBurst, measureStartDelay } from './measure/delay.js'
import { measureIdle } from './measure/idle.js'
import { measureRegistration } from './measure/register.js'
import type { Stage } from './measure/stage.js'
import { measureTakeover } from './measure/takeover.js'
import { measureThroughput } from './measure/throughput.js'
import { FULL, QUICK, type Scale, TINY } from './scale.js'

const HELP = `npm run bench -- [--store ${Object.keys(CONTESTANTS).join('|')}]… [--quick] [--only <measure>]… [--json]

Measures each store (all by default) beside what its engine does for plain statements, and prints a table, or with
--json one object. --quick takes fewer and shorter runs. --only leaves the other measures out: throughput, delay, burst,
idle, takeover, registration. bench/README.md says what each figure means.
`

const MEASURES = ['registration', 'throughput', 'delay', 'burst', 'idle', 'takeover'] as const

interface Options {
  readonly stores: readonly string[]
  readonly scale: Scale
  readonly only: readonly string[]
  readonly isJson: boolean
}

/** What was measured of one store; of \`--only\` a part. */
type Result = Readonly<Record<string, unknown>>

/** The command line. Returns the exit code. */
export async function runBench(args: readonly string[], script: string): Promise<number> {
  const options = readOptions(args)
  if (options === null) return 2
  const results: Record<string, Result> = {}
  for (const store of options.stores) {
    results[store] = await measure(store, options, script)
    if (!options.isJson) process.stdout.write(`${store}\n${lines(results[store]).join('\n')}\n\n`)
  }
  if (options.isJson) process.stdout.write(`${JSON.stringify(results)}\n`)
  return 0
}

function readOptions(args: readonly string[]): Options | null {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        store: { type: 'string', multiple: true, default: Object.keys(CONTESTANTS) },
        only: { type: 'string', multiple: true, default: [...MEASURES] },
        quick: { type: 'boolean', default: false },
        tiny: { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    })
    if (values.help) throw new Error(HELP)
    for (const store of values.store) known('store', store, Object.keys(CONTESTANTS))
    for (const only of values.only) known('measure', only, MEASURES)
    const scale = values.tiny ? TINY : values.quick ? QUICK : FULL
    return { stores: values.store, scale, only: values.only, isJson: values.json }
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n`)
    return null
  }
}

function known(what: string, name: string, names: readonly string[]): void {
  if (!names.includes(name)) throw new Error(`There is no ${what} ${name}; there are ${names.join(', ')}.`)
}

async function measure(store: string, { scale, only }: Options, script: string): Promise<Result> {
  const ground = await CONTESTANTS[store]?.()
  if (ground === undefined) throw new Error(`There is no store ${store}.`)
  let fleets = 0
  const place = async () => {
    const fleet = `bench-${++fleets}`
    return { fleet, url: await ground.storeOf(fleet) }
  }
  const stage: Stage = { script, scale, place }
  // Throughput last: a server goes on for minutes with the files and tables that it leaves behind (checkpoints, vacuum, logs
  // rewritten), which doubles a delay.
  const measures = {
    delay: () => measureStartDelay(stage),
    burst: () => measureBurst(stage),
    takeover: () => measureTakeover(stage),
    idle: () => measureIdle(stage),
    registration: () => measureRegistration(stage),
    throughput: () => measureThroughput(stage, ground.floor),
  }
  const result: Record<string, unknown> = {}
  try {
    for (const [name, act] of Object.entries(measures)) {
      if (!only.includes(name)) continue
      process.stderr.write(`${store}: ${name} …\n`)
      Object.assign(result, await act())
    }
  } finally {
    await ground.end()
  }
  return roundedAll(result)
}

function roundedAll(result: Result): Result {
  return Object.fromEntries(
    Object.entries(result).map(([name, value]) => [
      name,
      typeof value === 'number' ? rounded(value) : roundedAll(value as Result),
    ]),
  )
}

function lines(result: Result, before = ''): string[] {
  return Object.entries(result).flatMap(([name, value]) =>
    typeof value === 'number' ? [`  ${before}${name}`.padEnd(40) + value] : lines(value as Result, `${before}${name} `),
  )
}
