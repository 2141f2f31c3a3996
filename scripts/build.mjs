// Compiles src into dist. The compiler writes beside dist and the finished folder takes its place in one step, so that
// a process that is running from dist never meets a half-written package, and a failed build leaves the old one.
import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, renameSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const fresh = `${root}.dist-${process.pid}`
const old = `${fresh}-old`

const tsc = fileURLToPath(new URL('bin/tsc', import.meta.resolve('typescript/package.json')))
const { status } = spawnSync(process.execPath, [tsc, '-p', 'tsconfig.build.json', '--outDir', fresh], {
  cwd: root,
  stdio: 'inherit',
})
if (status !== 0) {
  rmSync(fresh, { recursive: true, force: true })
  process.exit(status ?? 1)
}

const main = `${fresh}/cli/main.js`
if (existsSync(main)) chmodSync(main, 0o755)
if (existsSync(`${root}dist`)) renameSync(`${root}dist`, old)
renameSync(fresh, `${root}dist`)
rmSync(old, { recursive: true, force: true })
