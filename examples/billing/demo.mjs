// `npm run demo`: compiles the example beside itself and plays it. `--help` lists the options.
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const at = (path) => fileURLToPath(new URL(path, import.meta.url))

/** What stays outside: drivers and what is compiled code, and what NestJS loads only where somebody installed it. */
const external = [
  'better-sqlite3',
  'esbuild',
  'ioredis',
  'mysql2',
  'pg',
  '@nestjs/microservices',
  '@nestjs/websockets',
  '@nestjs/platform-express',
  'class-transformer',
  'class-validator',
]

// Each process is one file with all its packages: it starts in half the time, and eight of them start in a demonstration.
const { outputFiles } = await build({
  absWorkingDir: at('.'),
  entryPoints: {
    fleet: 'app/main.ts',
    plain: 'plain/main.ts',
    demo: 'demo/demo.ts',
    servers: 'demo/server-process.ts',
  },
  outdir: 'dist',
  tsconfig: 'tsconfig.json',
  bundle: true,
  external: external.flatMap((name) => [name, `${name}/*`]),
  banner: {
    js: `import * as nodeModule from 'node:module'; const require = nodeModule.createRequire(import.meta.url);`,
  },
  platform: 'node',
  target: 'node20',
  format: 'esm',
  logLevel: 'warning',
  write: false,
})
for (const { path, text } of outputFiles) writeWhole(path, text)

const { runDemo } = await import('./dist/demo.js')
process.exitCode = await runDemo(process.argv.slice(2), {
  fleetScript: at('dist/fleet.js'),
  plainScript: at('dist/plain.js'),
  serversScript: at('dist/servers.js'),
  cliScript: at('../../dist/cli/main.js'),
  customers: at('customers.csv'),
})

/** In one step, and only where something changed: another demonstration may be running from these files. */
function writeWhole(path, text) {
  try {
    if (readFileSync(path, 'utf8') === text) return
  } catch {
    mkdirSync(dirname(path), { recursive: true })
  }
  const fresh = `${path}.${process.pid}`
  writeFileSync(fresh, text)
  renameSync(fresh, path)
}
