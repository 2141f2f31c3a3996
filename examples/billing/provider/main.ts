// A payment service on loopback: node dist/provider.js <file.db> [port]. The first line says where it listens.
import { Provider } from './server.js'

const [file = 'provider.db', port = '0'] = process.argv.slice(2)
const provider = await Provider.start({ file, port: Number(port), keepMs: 24 * 3_600_000 })
console.log(JSON.stringify({ url: provider.url }))
process.once('SIGTERM', () => void provider.stop())
