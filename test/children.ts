import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { build } from 'esbuild'

/** A process of a test, with the lines of JSON that it writes. */
export interface Child {
  readonly process: ChildProcess
  readonly lines: AsyncIterator<unknown>
  /** The next line; fails where the process ends without one. */
  line(): Promise<unknown>
  go(): void
  ended(): Promise<{ code: number | null; signal: string | null; errors: string }>
}

/** Bundles `main` of a module of this folder into a script that calls it with its arguments. */
export async function bundleMain(module: string, outfile: string): Promise<void> {
  const contents = `import { main } from './${module}'\nawait main(process.argv.slice(2))\n`
  await build({
    stdin: { contents, resolveDir: import.meta.dirname, loader: 'ts' },
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    external: ['better-sqlite3', 'bullmq', 'ioredis', 'mysql2', 'mysql2/*', 'pg'],
    logLevel: 'silent',
  })
}

/** Where a bundled script finds the packages of this project. */
export const BUNDLES = join(import.meta.dirname, '..', 'node_modules', '.cache', 'fleetcron-tests')

export function start(script: string, args: readonly string[]): Child {
  const child = spawn(process.execPath, [script, ...args], { stdio: ['pipe', 'pipe', 'pipe'] })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  let errors = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text
  })
  const closed = once(child, 'close') as Promise<[number | null, string | null]>
  return {
    process: child,
    lines,
    line: async () => {
      const { done, value } = await lines.next()
      if (done) throw new Error(`The process ended without a line: ${errors}`)
      return JSON.parse(value)
    },
    go: () => void child.stdin.write('go\n'),
    ended: async () => {
      const [code, signal] = await closed
      return { code, signal, errors }
    },
  }
}
