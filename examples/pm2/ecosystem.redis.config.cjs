// pm2 start ecosystem.redis.config.cjs
const settings = require('./settings.cjs')

// Processes of several machines may share it.
const ledger = process.env.LEDGER ?? 'redis://127.0.0.1:6379'

module.exports = { apps: [{ ...settings, env: { LEDGER: ledger } }] }
