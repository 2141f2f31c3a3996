import { resolveStore } from '../src/store/resolve.js'
import { processFaults, WHERE_SERVERS_MATTER } from './process/faults.js'
import { sharedServer } from './servers/index.js'

/** The tables are there before a node is told to start: a server that makes each with a wait for its disk takes seconds. */
async function madeLedger(): Promise<string> {
  const { url } = await sharedServer('mariadb')
  const store = await resolveStore(url, 'unused')
  await store.open()
  await store.close()
  return url
}

processFaults({ ledger: madeLedger, ...WHERE_SERVERS_MATTER })
