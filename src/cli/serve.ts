import { readFileSync, statSync } from 'node:fs'
import type { Command } from 'commander'
import { InvalidArgumentError } from 'commander'
import { FleetcronError } from '../errors.js'
import { oneLine } from '../platform/told.js'
import { DEFAULT_PORT, serveStore } from '../store/remote/server.js'
import { tokensOf } from '../store/remote/tokens.js'
import { resolveStore } from '../store/resolve.js'
import { type CommandContext, fleetOf, type LedgerOptions, storeOf, withLedgerOptions } from './ledger.js'
import type { Terminal } from './terminal.js'

interface ServeOptions extends LedgerOptions {
  readonly tokenFile: string
  readonly host: string
  readonly port: number
  readonly tlsCert?: string
  readonly tlsKey?: string
  readonly allowPlainHttp?: boolean
  readonly maxBody: number
}

const EXAMPLE = `
Example:
  $ openssl rand -hex 32 > ledger.token
  $ fleetcron serve --store postgres://app@db/app --fleet billing --token-file ledger.token
  listening at http://127.0.0.1:7420 for fleet billing in postgres (correct)

Nodes: store: 'https://ledger.internal', and the token in FLEETCRON_STORE_TOKEN.`

const MIB = 1024 * 1024

/** Of a ledger in memory its store says that nobody else sees it. */
const MEMORY = 'The ledger is kept in the memory of this process: it is lost when this process ends.'

/** Adds `fleetcron serve`: a ledger for nodes that cannot reach its database. */
export function addServe(program: Command, { terminal }: CommandContext): void {
  const command = program.command('serve').description('hand a ledger round over HTTP, to nodes without a database')
  withLedgerOptions(command)
    .requiredOption(
      '-t, --token-file <file>',
      'one token a line, 16 or more characters; two while one replaces the other',
    )
    .option('--host <address>', 'where to listen', '127.0.0.1')
    .option('-p, --port <number>', 'where to listen; 0: any free one', wholeOf(0, 65_535), DEFAULT_PORT)
    .option('--tls-cert <file>', 'PEM; with --tls-key: listen in HTTPS')
    .option('--tls-key <file>', 'PEM')
    .option('--allow-plain-http', 'listen beyond this machine without TLS: a proxy or the network protects it')
    .option('--max-body <MiB>', 'refuse larger requests', wholeOf(1, 1_024), 16)
    .addHelpText('after', EXAMPLE)
    .action((options: ServeOptions) => serve(options, terminal))
}

async function serve(options: ServeOptions, terminal: Terminal): Promise<void> {
  const fleet = fleetOf(options)
  const log = (line: string) => terminal.err(`fleetcron serve: ${oneLine(line)}\n`)
  const tokens = watchedTokens(options.tokenFile, log)
  // Asked to stop while it opens, it stops once it is open.
  const stopped = terminal.stopped()
  const store = await resolveStore(storeOf(options), fleet)
  // What keeps it from listening is told by the error that ends this.
  let isListening = false
  const server = await serveStore({
    store,
    fleet,
    tokens,
    host: options.host,
    port: options.port,
    ...tlsOf(options),
    allowPlainHttp: options.allowPlainHttp === true,
    maxBodyBytes: options.maxBody * MIB,
    log: (line) => {
      if (isListening) log(line)
    },
  })
  isListening = true
  const { kind, grade } = server.info
  const remark = kind === 'memory' ? MEMORY : server.info.remark
  if (options.json === true) terminal.out(`${JSON.stringify({ url: server.url, fleet, kind, grade, remark })}\n`)
  else terminal.out(`listening at ${server.url} for fleet ${oneLine(fleet)} in ${kind} (${grade})\n`)
  if (remark !== null) log(remark)
  await stopped
  await server.stop()
}

/** The file's tokens, read again whenever it changes; one that cannot be read any more leaves those that were live. */
function watchedTokens(file: string, log: (line: string) => void): () => readonly string[] {
  let mark = markOf(file)
  let tokens = readTokens(file)
  return () => {
    const found = markOf(file)
    if (found === mark) return tokens
    mark = found
    try {
      tokens = readTokens(file)
      log(`the tokens were read again: ${tokens.length} live`)
    } catch (error) {
      log(`${error instanceof Error ? error.message : error} The tokens read before stay live.`)
    }
    return tokens
  }
}

function markOf(file: string): string {
  const found = statSync(file, { throwIfNoEntry: false })
  return found ? `${found.ino} ${found.mtimeMs} ${found.size}` : 'missing'
}

function readTokens(file: string): readonly string[] {
  return tokensOf(read('--token-file', file))
}

function tlsOf({ tlsCert, tlsKey }: ServeOptions) {
  if (tlsCert === undefined && tlsKey === undefined) return {}
  if (tlsCert === undefined || tlsKey === undefined) {
    throw new FleetcronError('OPTION_INVALID', 'The options --tls-cert and --tls-key go together: name both files.')
  }
  return { tls: { cert: read('--tls-cert', tlsCert), key: read('--tls-key', tlsKey) } }
}

function read(option: string, file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    const why = (cause as NodeJS.ErrnoException).code === 'ENOENT' ? 'there is no such file' : 'it cannot be read'
    throw new FleetcronError('OPTION_INVALID', `The option ${option} names ${file}: ${why}.`, { cause })
  }
}

function wholeOf(least: number, most: number): (text: string) => number {
  return (text) => {
    const number = /^\d{1,5}$/.test(text) ? Number(text) : -1
    if (number >= least && number <= most) return number
    throw new InvalidArgumentError(`Write a whole number from ${least} to ${most}.`)
  }
}
