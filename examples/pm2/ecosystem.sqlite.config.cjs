// pm2 start ecosystem.sqlite.config.cjs
const { join } = require('node:path')
const settings = require('./settings.cjs')

// One machine, one file: all processes name it by the same absolute path.
const ledger = process.env.LEDGER ?? `sqlite:${join(__dirname, 'ledger.db')}`

module.exports = { apps: [{ ...settings, env: { LEDGER: ledger } }] }
