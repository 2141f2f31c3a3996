import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { build } from 'esbuild'
import { afterAll, describe, expect, it } from 'vitest'

const root = join(import.meta.dirname, '../..')
const fixture = join(root, 'test/fixtures/nest-app')
const page = readFileSync(join(root, 'docs/migrate-from-nestjs-schedule.md'), 'utf8')
const cache = join(root, 'node_modules/.cache/fleetcron-migration')
mkdirSync(cache, { recursive: true })
const work = mkdtempSync(join(cache, 'app-'))
const data = mkdtempSync(join(tmpdir(), 'fleetcron-migration-'))
const NODES = 3

afterAll(() => {
  for (const folder of [work, data]) rmSync(folder, { recursive: true, force: true })
})

/** What one process said: which job, for which second, in order. */
type Ran = { readonly job: string; readonly second: number }

const TABLE = [
  ...page.matchAll(/^\| ([a-z-]+) \| (every node|one node|nobody) \| (every node|one node|nobody) \|$/gm),
].map(([, job = '', before = '', after = '']) => ({ job, before, after }))

describe('an application that moves as the page says, three processes', () => {
  it('has a table of all its jobs', () => {
    const source = ['caches', 'invoices'].map((name) => readFileSync(join(fixture, `${name}.ts`), 'utf8')).join('\n')
    const named = [...source.matchAll(/@Cron\(.*name: '([a-z-]+)'/g)].map(([, name]) => name)
    expect(named).toHaveLength(6)
    expect(TABLE.map(({ job }) => job)).toEqual(expect.arrayContaining(named))
  })

  it('runs before the move what the table says', async () => {
    expect(await play(await bundle('before', fixture), 'before')).toEqual(TABLE.map(({ job, before }) => [job, before]))
  })

  it('runs after the move what the table says', async () => {
    const moved = join(work, 'moved')
    cpSync(fixture, moved, { recursive: true })
    applyPage(moved)
    expect(await play(await bundle('after', moved), 'after')).toEqual(TABLE.map(({ job, after }) => [job, after]))
  })
})

/** Applies the page's diff: each line that goes has to be there once, and the next line that comes takes its place. */
function applyPage(folder: string): void {
  const [, diff = ''] = /```diff\n(.*?)```/s.exec(page) ?? []
  for (const part of diff.split(/^--- /m).slice(1)) {
    const [file = '', ...lines] = part.trimEnd().split('\n')
    let text = readFileSync(join(folder, file), 'utf8')
    for (let at = 0; at < lines.length; at += 2) {
      const [gone = '', come = ''] = [lines[at]?.slice(1), lines[at + 1]?.slice(1)]
      expect(text.split(gone)).toHaveLength(2)
      text = text.replace(gone, come)
    }
    writeFileSync(join(folder, file), text)
  }
}

async function bundle(name: string, folder: string): Promise<string> {
  const outfile = join(work, `${name}.mjs`)
  await build({
    entryPoints: [join(folder, 'main.ts')],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    alias: { 'fleetcron/nest': join(root, 'src/nest/index.ts'), fleetcron: join(root, 'src/index.ts') },
    packages: 'external',
    tsconfigRaw: { compilerOptions: { experimentalDecorators: true } },
    logLevel: 'silent',
  })
  return outfile
}

/** Three processes until each job that runs has shown where: at least four moments of one node's jobs, two of every node's. */
async function play(script: string, when: 'before' | 'after'): Promise<[string, string][]> {
  const env = { ...process.env, REPORTS: 'off', LEDGER_URL: `sqlite:${join(data, 'ledger.db')}`, TZ: 'UTC' }
  const said: Ran[][] = Array.from({ length: NODES }, () => [])
  const children: ChildProcess[] = []
  let log = ''
  try {
    await new Promise<void>((resolve, reject) => {
      for (const mine of said) {
        const child = spawn(process.execPath, [script], { env, stdio: ['ignore', 'pipe', 'pipe'] })
        children.push(child)
        child.stderr.setEncoding('utf8').on('data', (text: string) => {
          log += text
        })
        child.on('exit', () => reject(new Error(`a process has ended: ${log}`)))
        createInterface({ input: child.stdout }).on('line', (line) => {
          if (!line.startsWith('{')) log += line
          else mine.push(JSON.parse(line))
          if (isEnough(said, when)) resolve()
        })
      }
    })
  } finally {
    for (const child of children) child.kill('SIGTERM')
    await Promise.all(
      children.map((child) => child.exitCode === null && child.signalCode === null && once(child, 'exit')),
    )
  }
  expect(log.includes('decorated by @nestjs/schedule and run by its ScheduleModule')).toBe(when === 'after')
  return TABLE.map(({ job }) => [job, whereRan(said, job)])
}

function isEnough(said: readonly Ran[][], when: 'before' | 'after'): boolean {
  return TABLE.every((row) => {
    const seconds = said.map((mine) => new Set(mine.filter(({ job }) => job === row.job).map(({ second }) => second)))
    if (row[when] === 'every node') return seconds.every(({ size }) => size >= 2)
    return row[when] === 'nobody' || new Set(seconds.flatMap((one) => [...one])).size >= 4
  })
}

/** One node: no second was worked on twice. Every node: each process did. */
function whereRan(said: readonly Ran[][], job: string): string {
  const all = said.map((mine) => mine.filter((ran) => ran.job === job))
  const runs = all.flat()
  if (runs.length === 0) return 'nobody'
  const seconds = new Set(runs.map(({ second }) => second))
  return seconds.size === runs.length ? 'one node' : all.every((mine) => mine.length > 0) ? 'every node' : 'some nodes'
}
