import { parseArgs } from 'node:util'

export interface DemoOptions {
  readonly customers: string | null
  readonly seed: number
  readonly keep: string | null
  readonly json: boolean
  readonly plain: boolean
}

export const USAGE = `npm run demo -- [options]
  --customers <file.csv>  bills these customers (id, name, plan, price, currency, zone)
  --seed <n>              chooses whom the faults strike, and when; a random one by default
  --keep <folder>         leaves the two databases and the nodes' logs there
  --json                  ends with one line of JSON
  --plain                 the same faults without Fleetcron: @nestjs/schedule and an expiring lock`

/** What the person at the keyboard has to put right: one line, exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** Null: only the usage is asked for. @throws UsageError */
export function readOptions(args: readonly string[], randomSeed: number): DemoOptions | null {
  const { values } = parse(args)
  if (values.help) return null
  for (const name of ['customers', 'keep'] as const) {
    if (values[name] === '') throw new UsageError(`--${name} needs a path`)
  }
  return {
    customers: values.customers ?? null,
    seed: values.seed === undefined ? randomSeed : readSeed(values.seed),
    keep: values.keep ?? null,
    json: values.json ?? false,
    plain: values.plain ?? false,
  }
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      strict: true,
      options: {
        customers: { type: 'string' },
        seed: { type: 'string' },
        keep: { type: 'string' },
        json: { type: 'boolean' },
        plain: { type: 'boolean' },
        help: { type: 'boolean' },
      },
    })
  } catch (error) {
    const [sentence] = String((error as Error).message).split(/\. |\n/)
    throw new UsageError(`${sentence}. Known are --customers, --seed, --keep, --json, --plain and --help.`)
  }
}

function readSeed(text: string): number {
  const seed = Number(text)
  if (/^\d+$/.test(text) && seed <= 0xffff_ffff) return seed
  throw new UsageError(`--seed '${text}' is not a whole number from 0 to 4294967295`)
}
