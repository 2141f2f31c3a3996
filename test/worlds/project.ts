import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const root = join(import.meta.dirname, '../..')
const QUIET = ['--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts']

const run = promisify(execFile)

/** A project of somebody who uses the package: fixed files, its own dependencies, in a folder far from this one. */
export class Project {
  readonly folder: string

  constructor(readonly name: string) {
    this.folder = mkdtempSync(join(tmpdir(), `fleetcron-${name}-`))
    cpSync(join(root, 'test/fixtures', name), this.folder, { recursive: true })
  }

  /** Installs its dependencies and what `npm publish` would upload, lets it generate what it needs, and compiles it. */
  async prepare(generate: () => Promise<unknown> = async () => {}): Promise<void> {
    const pack = ['pack', '--json', '--ignore-scripts', '--pack-destination', this.folder]
    const [packed] = await Promise.all([
      run('npm', pack, { cwd: root }),
      run('npm', ['ci', ...QUIET], { cwd: this.folder }),
    ])
    const [{ filename }] = JSON.parse(packed.stdout)
    await run('npm', ['install', '--no-save', ...QUIET, join(this.folder, filename)], { cwd: this.folder })
    await generate()
    await this.tsc('-p', 'tsconfig.build.json')
  }

  remove(): Promise<void> {
    return rm(this.folder, { recursive: true, force: true })
  }

  tsc(...words: string[]) {
    return this.node('node_modules/typescript/bin/tsc', ...words)
  }

  /** Runs a script of the project; where it fails, the error is what it said. */
  node(script: string, ...words: string[]) {
    return this.run(process.execPath, [script, ...words])
  }

  /** Runs a program in the project's folder. */
  run(program: string, words: readonly string[], more: NodeJS.ProcessEnv = {}) {
    const env = { ...process.env, NO_COLOR: '1', ...more }
    const options = { cwd: this.folder, env, maxBuffer: 64 * 2 ** 20 }
    return run(program, words, options).catch((error) => {
      throw new Error(`${error.stdout}\n${error.stderr}`)
    })
  }

  /** Runs its tests of node:test, on another version of Node where it needs one; gives how many there were. */
  async suite(env: NodeJS.ProcessEnv, program = process.execPath): Promise<{ passed: number; failed: number }> {
    const words = ['--test', '--test-reporter=tap', 'dist/suite.js']
    const { stdout } = await this.run(program, words, env)
    const count = (of: string) => Number(new RegExp(`^# ${of} (\\d+)$`, 'm').exec(stdout)?.[1])
    return { passed: count('pass'), failed: count('fail') }
  }

  /** Starts the application, waits until a job has run, ends it as a deploy does, and gives what it said. */
  async boot(script: string, ledger: string): Promise<string> {
    const env = { ...process.env, LEDGER: ledger, PORT: '0', NO_COLOR: '1' }
    const child = spawn(process.execPath, [script], { cwd: this.folder, env })
    let output = ''
    const hasRun = new Promise<void>((resolve, reject) => {
      for (const stream of [child.stdout, child.stderr]) {
        stream.setEncoding('utf8').on('data', (text: string) => {
          output += text
          if (/job=\S+:heartbeat .*outcome=succeeded/.test(output)) resolve()
        })
      }
      child.on('exit', () => reject(new Error(output)))
    })
    await hasRun
    const ended = once(child, 'exit')
    child.kill('SIGTERM')
    await ended
    return output
  }
}
