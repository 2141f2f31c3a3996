import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Daemon, freePort } from '../../../test/servers/processes.js'
import { Servers } from '../../../test/servers/servers.js'
import { openFile } from '../shared/database.js'
import { type LedgerReader, sqliteReader, storeReader } from './ledgers.js'

/** Where the ledger of a demonstration is. */
export interface LedgerPlace {
  readonly url: string
  readonly fleet: string
  /** A file that the nodes themselves write to: a node that is stopped inside a transaction stops it. */
  readonly file: string | null
  /** Its server, where it is the demonstration's own. */
  readonly server: LedgerServer | null
  read(): Promise<LedgerReader>
  end(): Promise<void>
}

export interface LedgerServer {
  /** Ends it as a power cut does. */
  kill(): Promise<void>
  /** Starts it again over what it kept. */
  again(): Promise<void>
}

/** Stores with a server that the demonstration can start, as the tests do. */
export const SERVED = ['postgres', 'mariadb', 'redis', 'remote'] as const
type Served = (typeof SERVED)[number]

export interface StoreScripts {
  /** The process that starts and ends servers. */
  readonly servers: string
  /** The command line of fleetcron. */
  readonly cli: string
}

/** Makes room for a ledger: `sqlite`, a store with a server of its own, or the URL of one that is there. */
export async function ledgerPlace(store: string, folder: string, scripts: StoreScripts): Promise<LedgerPlace> {
  if (store === 'sqlite') return sqlitePlace(join(folder, 'ledger.db'), 'fleet')
  if (store === 'remote') return remotePlace(folder, scripts.cli)
  if (isServed(store)) return servedPlace(store, scripts.servers)
  return { ...reached(store), server: null, end: async () => {} }
}

/** The file of a ledger, or of the plain application's lock. */
export function sqlitePlace(file: string, kind: 'fleet' | 'plain'): LedgerPlace {
  openFile(file).close()
  const url = kind === 'fleet' ? `sqlite:${file}` : file
  return { url, fleet: 'billing', file, server: null, read: async () => sqliteReader(file, kind), end: async () => {} }
}

export function isServed(store: string): store is Served {
  return (SERVED as readonly string[]).includes(store)
}

/** `fleetcron serve` over a SQLite file that no node can reach by itself. */
async function remotePlace(folder: string, cli: string): Promise<LedgerPlace> {
  const token = randomUUID()
  const tokens = join(folder, 'tokens')
  writeFileSync(tokens, `${token}\n`, { mode: 0o600 })
  const port = await freePort()
  const fleet = 'billing'
  const words = ['--store', `sqlite:${join(folder, 'ledger.db')}`, '--fleet', fleet, '--token-file', tokens]
  const command = [process.execPath, cli, 'serve', ...words, '--port', String(port)] as const
  const start = () => Daemon.start(null, [...command], /listening at/, join(folder, 'serve.log'))
  let daemon = await start()
  const url = `http://${token}@127.0.0.1:${port}`
  const again = async () => {
    daemon = await start()
  }
  return {
    url,
    fleet,
    file: null,
    server: { kill: () => daemon.end('SIGKILL'), again },
    read: () => storeReader(url, fleet),
    end: () => daemon.end('SIGTERM'),
  }
}

async function servedPlace(engine: Served, script: string): Promise<LedgerPlace> {
  const servers = Servers.start(script)
  try {
    const { server, url } = await servers.ask({ do: 'start', engine })
    const tell = (what: 'kill' | 'again') => async () => void (await servers.ask({ do: what, server }))
    return { ...reached(url), server: { kill: tell('kill'), again: tell('again') }, end: () => servers.end() }
  } catch (error) {
    await servers.end()
    throw error
  }
}

/** A fleet of its own in a store that may hold others. */
function reached(url: string) {
  const fleet = `billing-${randomUUID().slice(0, 8)}`
  return { url, fleet, file: null, read: () => storeReader(url, fleet) }
}
