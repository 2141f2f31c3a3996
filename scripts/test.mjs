// Runs the tests: npm test [-- --stores sqlite,memory] [-- Vitest's own words]. Without --stores all stores are tested, and
// the servers that they need are found, started or installed; see test/servers.
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const words = process.argv.slice(2)
const env = { ...process.env }
const at = words.findIndex((word) => word === '--stores' || word.startsWith('--stores='))
if (at >= 0) {
  const [word] = words.splice(at, 1)
  const stores = word?.includes('=') ? word.slice('--stores='.length) : words.splice(at, 1)[0]
  if (!stores) {
    console.error('Which stores? For example: npm test -- --stores sqlite,memory')
    process.exit(2)
  }
  env.FLEETCRON_TEST_STORES = stores
}
if (env.FLEETCRON_TEST_STORES) console.log(`Only these stores are tested: ${env.FLEETCRON_TEST_STORES}`)

const vitest = fileURLToPath(new URL('vitest.mjs', import.meta.resolve('vitest/package.json')))
const { status } = spawnSync(process.execPath, [vitest, 'run', ...words], { stdio: 'inherit', env })
process.exit(status ?? 1)
