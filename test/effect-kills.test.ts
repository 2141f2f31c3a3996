import { killsOf } from './kills/suite.js'

killsOf('SQLite', async () => ({ url: null, end: async () => {} }))
