import { execFile, spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'

const root = join(import.meta.dirname, '../..')
const PM2 = join(root, 'node_modules/pm2/bin/pm2')
const CLI = join(root, 'dist/cli/main.js')

const run = promisify(execFile)

/** A line of examples/pm2/app.mjs. */
export interface Said {
  readonly what: 'begun' | 'done'
  readonly key: string
  readonly attempt: number
  readonly pid: number
}

export interface Row {
  readonly key: string
  readonly state: string
  readonly attempt: number
  readonly covers: { readonly from: string; readonly to: string; readonly count: number }
}

/** The real PM2, with a home and a daemon of its own. */
export class Pm2 {
  readonly home = mkdtempSync(join(tmpdir(), 'fleetcron-pm2-'))
  private readonly env: NodeJS.ProcessEnv

  constructor(readonly ledger: string) {
    this.env = { ...process.env, PM2_HOME: this.home, PM2_DISABLE_VERSION_CHECK: 'true', LEDGER: ledger, NO_COLOR: '1' }
  }

  async command(...words: string[]): Promise<string> {
    const { stdout } = await run(process.execPath, [PM2, ...words], { cwd: root, env: this.env, maxBuffer: 64e6 })
    return stdout
  }

  /** Process ids of those that PM2 calls online, by PM2's own number. */
  async pids(): Promise<number[]> {
    const list = JSON.parse(await this.command('jlist')) as { pid: number; pm2_env: { status: string } }[]
    return list.filter(({ pm2_env }) => pm2_env.status === 'online').map(({ pid }) => pid)
  }

  /** What the nodes say from now on, as it comes. */
  listen() {
    const child = spawn(process.execPath, [PM2, 'logs', 'fleet', '--raw', '--lines', '0'], { cwd: root, env: this.env })
    const heard: Said[] = []
    let wake = () => {}
    createInterface({ input: child.stdout }).on('line', (line) => {
      const said = saidIn(line)
      if (said !== null) heard.push(said)
      wake()
    })
    const next = async (fits: (said: Said) => boolean): Promise<Said> => {
      for (;;) {
        const found = heard.shift()
        if (found !== undefined && fits(found)) return found
        if (heard.length > 0) continue
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
    }
    return { next, forget: () => heard.splice(0), end: () => child.kill() }
  }

  /** All that the nodes have said, from the files that PM2 keeps. */
  said(): Said[] {
    const logs = join(this.home, 'logs')
    const files = readdirSync(logs).filter((name) => name.includes('-out'))
    return files
      .flatMap((name) => readFileSync(join(logs, name), 'utf8').split('\n'))
      .flatMap((line) => saidIn(line) ?? [])
  }

  /** What the ledger says, oldest first. */
  async rows(): Promise<Row[]> {
    const words = ['runs', 'tick', '--json', '--limit', '1000', '--store', this.ledger, '--fleet', 'pm2-example']
    const { stdout } = await run(process.execPath, [CLI, ...words], { cwd: root, maxBuffer: 64e6 })
    return (JSON.parse(stdout) as Row[]).reverse()
  }

  async end(): Promise<void> {
    await this.command('kill')
    await rm(this.home, { recursive: true, force: true })
  }
}

function saidIn(line: string): Said | null {
  return line.startsWith('{"what"') ? (JSON.parse(line) as Said) : null
}

export interface Played {
  readonly before: readonly number[]
  readonly reloaded: readonly number[]
  readonly killed: Said
  readonly after: readonly number[]
  /** The ledger when the reload was over, and at the end. */
  readonly rowsOfReload: readonly Row[]
  readonly rows: readonly Row[]
  readonly said: readonly Said[]
}

/** Starts four nodes, reloads them while they work, kills one in the middle of a run, and stops them. */
export async function play(pm2: Pm2, ecosystem: string): Promise<Played> {
  await pm2.command('start', join(root, 'examples/pm2', ecosystem))
  const before = await pm2.pids()
  const nodes = pm2.listen()
  try {
    await nodes.next(({ what }) => what === 'done')
    await pm2.command('reload', 'fleet')
    const reloaded = await pm2.pids()
    await nodes.next(({ what, pid }) => what === 'done' && reloaded.includes(pid))
    const rowsOfReload = await pm2.rows()
    const killed = await killInRun(nodes)
    nodes.forget()
    // The others have caught up when they do what is due now.
    await nodes.next(({ what, key }) => what === 'done' && Date.now() - Date.parse(key) < 1_500)
    const after = await pm2.pids()
    await pm2.command('stop', 'fleet')
    return { before, reloaded, killed, after, rowsOfReload, rows: await pm2.rows(), said: pm2.said() }
  } finally {
    nodes.end()
  }
}

/** Kills who has just begun a run, until one is hit before its end: a busy machine may tell of the beginning too late. */
async function killInRun({ next, forget }: ReturnType<Pm2['listen']>): Promise<Said> {
  for (;;) {
    forget()
    const begun = await next(({ what }) => what === 'begun')
    process.kill(begun.pid, 'SIGKILL')
    const { attempt } = await next(({ what, key }) => what === 'done' && key === begun.key)
    if (attempt > 1) return begun
  }
}
