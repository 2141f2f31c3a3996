import { processFaults, WHERE_SERVERS_MATTER } from './process/faults.js'
import { sharedServer } from './servers/index.js'

processFaults({ ledger: async () => (await sharedServer('postgres')).url, ...WHERE_SERVERS_MATTER })
