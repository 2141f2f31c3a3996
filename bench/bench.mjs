// `npm run bench`: bundles the bench and the nodes it starts, from the sources as they are, and runs it. `--help` lists the options.
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

// Below node_modules, so that the drivers are found; a folder of its own, since several benches may run.
const folder = fileURLToPath(new URL(`../node_modules/.cache/fleetcron-bench-${process.pid}/`, import.meta.url))
mkdirSync(folder, { recursive: true })
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))

await build({
  absWorkingDir: fileURLToPath(new URL('.', import.meta.url)),
  entryPoints: ['main.ts', 'node.ts'],
  outdir: folder,
  outExtension: { '.js': '.mjs' },
  bundle: true,
  // Drivers and doors are loaded as an application would load them.
  packages: 'external',
  platform: 'node',
  target: 'node20',
  format: 'esm',
  sourcemap: 'inline',
  logLevel: 'warning',
})

const { runBench } = await import(join(folder, 'main.mjs'))
process.exitCode = await runBench(process.argv.slice(2), join(folder, 'node.mjs'))
