import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { build } from 'esbuild'
import { BUNDLES } from '../children.js'
import { CommandLine } from '../cli/command.js'

export interface Fired {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

interface TellsOfRuns {
  readonly job: string
  readonly runs: readonly {
    readonly key: string
    readonly state: string
    readonly cause: string
    readonly attempt: number
  }[]
  readonly next: string | null
}

/** What a platform starts: the script, and what stands before the job's name and behind it. */
export interface Door {
  readonly command: CommandLine
  readonly words: (job: string, more: readonly string[]) => string[]
}

export async function commandLineDoor(): Promise<Door> {
  const command = await CommandLine.build()
  const app = join(dirname(command.script), 'app.js')
  await bundle('app.ts', app)
  return { command, words: (job, more) => [command.script, 'run', job, '--app', app, ...more] }
}

export async function nestDoor(): Promise<Door> {
  const command = await CommandLine.build()
  const script = join(dirname(command.script), 'nest-job.mjs')
  await bundle('nest-job.ts', script)
  return { command, words: (job, more) => [script, job, ...more] }
}

function bundle(entry: string, outfile: string): Promise<unknown> {
  mkdirSync(BUNDLES, { recursive: true })
  return build({
    entryPoints: [join(import.meta.dirname, entry)],
    outfile,
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    target: 'node20',
    logLevel: 'silent',
  })
}

/** A platform's scheduler as a test plays it: it starts a process when it likes, and ends it when it likes. */
export class Platform {
  readonly folder = mkdtempSync(join(tmpdir(), 'platform-'))
  readonly ledger: string
  private readonly children = new Set<ChildProcess>()

  constructor(
    private readonly door: Door,
    ledger?: string,
    private readonly more: Readonly<Record<string, string>> = {},
  ) {
    this.ledger = ledger ?? `sqlite:${this.folder}/ledger.db`
    writeFileSync(join(this.folder, 'worked'), '')
  }

  /** A process that has been started, with what it has said when it ends. */
  start(job: string, ...more: string[]): { readonly child: ChildProcess; readonly ended: Promise<Fired> } {
    const env = { ...process.env, LEDGER: this.ledger, WORKED: join(this.folder, 'worked'), ...this.more }
    const child = spawn(process.execPath, this.door.words(job, more), { stdio: ['ignore', 'pipe', 'pipe'], env })
    this.children.add(child)
    let [out, err] = ['', '']
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      out += text
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      err += text
    })
    const ended = once(child, 'close').then(([code]) => {
      this.children.delete(child)
      return { code: code as number | null, out, err }
    })
    return { child, ended }
  }

  fire(job: string, ...more: string[]): Promise<Fired> {
    return this.start(job, ...more).ended
  }

  async fired(job: string, ...more: string[]): Promise<TellsOfRuns & { readonly code: number | null }> {
    const { code, out, err } = await this.fire(job, '--json', ...more)
    if (!out.startsWith('{')) throw new Error(`It said nothing of runs: ${out}${err}`)
    return { code, ...(JSON.parse(out) as TellsOfRuns) }
  }

  worked(): string[] {
    return readFileSync(join(this.folder, 'worked'), 'utf8').split('\n').slice(0, -1)
  }

  async remove(): Promise<void> {
    const ends = [...this.children].map((child) => once(child, 'close'))
    for (const child of this.children) child.kill('SIGKILL')
    await Promise.all(ends)
    rmSync(this.folder, { recursive: true })
  }
}

/** Resolves when a process writes that it has begun; one that ends without it is not waited for. */
export async function begun({ child, ended }: ReturnType<Platform['start']>): Promise<void> {
  const early = ended.then(({ code, out, err }) => {
    throw new Error(`It ended with ${code} and had not begun: ${out}${err}`)
  })
  early.catch(() => undefined)
  for (let said = ''; !said.includes('begun'); ) {
    said += (await Promise.race([once(child.stdout as NodeJS.ReadableStream, 'data'), early]))[0]
  }
}
