import { execFile, spawn } from 'node:child_process'
import { copyFileSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { BUNDLES } from '../children.js'

const root = join(import.meta.dirname, '../..')

export interface Outcome {
  readonly code: number
  readonly out: string
  readonly err: string
}

/** The command line, laid out as the package is, so that it runs as it will when installed. */
export class CommandLine {
  readonly #folder: string

  private constructor(folder: string) {
    this.#folder = folder
  }

  static async build(): Promise<CommandLine> {
    const folder = join(BUNDLES, `cli-${process.pid}-${Date.now()}`)
    mkdirSync(folder, { recursive: true })
    copyFileSync(join(root, 'package.json'), join(folder, 'package.json'))
    const command = new CommandLine(folder)
    await build({
      entryPoints: [join(root, 'src/cli/main.ts')],
      outfile: command.script,
      bundle: true,
      packages: 'external',
      platform: 'node',
      format: 'esm',
      logLevel: 'silent',
    })
    return command
  }

  get script(): string {
    return join(this.#folder, 'dist/cli/main.js')
  }

  run(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Outcome> {
    return new Promise((resolve) => {
      const options = { env: { ...process.env, ...env }, maxBuffer: 1 << 24 }
      execFile(process.execPath, [this.script, ...args], options, (error, out, err) => {
        resolve({ code: error === null ? 0 : Number(error.code), out, err })
      })
    })
  }

  start(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
    return spawn(process.execPath, [this.script, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...env },
    })
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true })
  }
}
