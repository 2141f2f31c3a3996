// Compiles src into dist: the same files as ES modules, and in dist/cjs as CommonJS. The compiler writes beside dist and the finished folder takes its place in one step, so that
// a process that is running from dist never meets a half-written package, and a failed build leaves the old one.
import { spawnSync } from 'node:child_process'
import { chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

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

await writeCommonJs(fresh)

const main = `${fresh}/cli/main.js`
if (existsSync(main)) chmodSync(main, 0o755)
if (existsSync(`${root}dist`)) renameSync(`${root}dist`, old)
renameSync(fresh, `${root}dist`)
rmSync(old, { recursive: true, force: true })

// The command line is started by its file, as an ES module: nobody requires it.
async function writeCommonJs(folder) {
  const all = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((path) => path.replaceAll('\\', '/'))
  const files = all.filter((path) => !path.startsWith('cli/'))
  const target = join(folder, 'cjs')
  await build({
    absWorkingDir: folder,
    entryPoints: files.filter((path) => path.endsWith('.js')),
    outdir: target,
    outbase: folder,
    platform: 'node',
    format: 'cjs',
    target: 'node20.19',
    keepNames: true,
    sourcemap: true,
    logLevel: 'warning',
  })
  for (const path of files.filter((name) => name.endsWith('.d.ts'))) {
    mkdirSync(dirname(join(target, path)), { recursive: true })
    copyFileSync(join(folder, path), join(target, path))
  }
  writeFileSync(join(target, 'package.json'), '{ "type": "commonjs" }\n')
}
