import { join } from 'node:path'
import { EVERYWHERE, processFaults } from './process/faults.js'

processFaults({ ledger: (folder) => `sqlite:${join(folder, 'ledger.db')}`, ...EVERYWHERE })
