// `npm run kill:effects`: kills a process at every boundary of an effect and counts what is left. `--help` lists the options.
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'

const root = fileURLToPath(new URL('..', import.meta.url))
const cache = join(root, 'node_modules', '.cache', 'fleetcron-tests')
mkdirSync(cache, { recursive: true })
const outfile = join(cache, `kill-effects-${process.pid}.mjs`)
await build({
  entryPoints: [join(root, 'test', 'kills', 'main.ts')],
  outfile,
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  packages: 'external',
  define: { 'import.meta.dirname': JSON.stringify(join(root, 'test')) },
  logLevel: 'warning',
})
try {
  const { main } = await import(pathToFileURL(outfile))
  await main(process.argv.slice(2))
} finally {
  rmSync(outfile, { force: true })
}
