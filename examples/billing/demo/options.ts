import { parseArgs } from 'node:util'
import { isServed, SERVED } from './stores.js'

export interface DemoOptions {
  readonly customers: string | null
  readonly seed: number
  readonly keep: string | null
  readonly json: boolean
  readonly plain: boolean
  /** Whether customers are charged at the payment provider too. */
  readonly provider: boolean
  /** `sqlite`, a store whose server is started, or a URL. */
  readonly store: string
  readonly restartServer: boolean
  /** Milliseconds after which it gives up. */
  readonly withinMs: number
}

export const USAGE = `npm run demo -- [options]
  --customers <file.csv>  bills these customers (id, name, plan, price, currency, zone)
  --seed <n>              chooses whom the faults strike, and when; a random one by default
  --keep <folder>         leaves the two databases and the nodes' logs there
  --json                  ends with one line of JSON
  --within <seconds>      gives up after so long: 88, and 30 more with --restart-server, 60 with --provider
  --store <name or URL>   where the ledger is: sqlite, or postgres, mariadb, redis, remote on a server that is started
  --restart-server        kills the ledger's server too, in mid-period, and starts it again
  --provider              charges them too, at a payment provider that fails; processes die and sleep in requests
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
  const store = readStore(values.store ?? 'sqlite')
  const plain = values.plain ?? false
  const restartServer = values['restart-server'] ?? false
  const provider = values.provider ?? false
  if (plain && (values.store !== undefined || restartServer)) {
    throw new UsageError('--plain keeps no ledger: leave --store and --restart-server out')
  }
  if (plain && provider) throw new UsageError('--plain knows no effects: leave --provider out')
  if (restartServer && !isServed(store)) {
    throw new UsageError(`--restart-server needs a server of the demonstration's own: --store ${SERVED.join('|')}`)
  }
  return {
    customers: values.customers ?? null,
    seed: values.seed === undefined ? randomSeed : readSeed(values.seed),
    keep: values.keep ?? null,
    json: values.json ?? false,
    plain,
    provider,
    store,
    restartServer,
    withinMs: readSeconds(values.within, (restartServer ? OUTAGE_S : 0) + (provider ? PROVIDER_S : 0)) * 1_000,
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
        provider: { type: 'boolean' },
        store: { type: 'string' },
        'restart-server': { type: 'boolean' },
        within: { type: 'string' },
        help: { type: 'boolean' },
      },
    })
  } catch (error) {
    const [sentence] = String((error as Error).message).split(/\. |\n/)
    const known =
      '--customers, --seed, --keep, --json, --store, --restart-server, --within, --provider, --plain and --help'
    throw new UsageError(`${sentence}. Known are ${known}.`)
  }
}

/** The usual time suits a machine that has little else to do. */
const USUAL_S = 88
/** So much longer where the ledger's server is away meanwhile. */
const OUTAGE_S = 30
/** And so much where outcomes are uncertain meanwhile. */
const PROVIDER_S = 60

function readSeconds(text: string | undefined, longerS: number): number {
  if (text === undefined) return USUAL_S + longerS
  if (/^[1-9]\d{0,3}$/.test(text)) return Number(text)
  throw new UsageError(`--within '${text}' is not a whole number of seconds from 1 to 9999`)
}

function readSeed(text: string): number {
  const seed = Number(text)
  if (/^\d+$/.test(text) && seed <= 0xffff_ffff) return seed
  throw new UsageError(`--seed '${text}' is not a whole number from 0 to 4294967295`)
}

/** A URL may hold a password: it is not shown. */
function readStore(text: string): string {
  if (text === 'sqlite' || isServed(text) || /^[a-z][a-z0-9+.-]*:\/\//.test(text)) return text
  throw new UsageError(`--store is neither sqlite, ${SERVED.join(', ')} nor the URL of a server`)
}
