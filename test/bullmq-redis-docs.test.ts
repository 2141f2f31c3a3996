import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Queue, QueueEvents } from 'bullmq'
import { build } from 'esbuild'
import { describe, expect, it } from 'vitest'
import { DOOR_DEFAULTS } from '../src/bullmq/options.js'
import { isNode, type Node, parse } from './architecture/source.js'
import { nextEnded } from './bullmq/bench.js'
import { BUNDLES } from './children.js'
import { sharedServer } from './servers/index.js'

const root = join(import.meta.dirname, '..')
const page = readFileSync(join(root, 'docs/bullmq.md'), 'utf8')

/** Options and their defaults as the page's table has them. */
function options(): Record<string, string> {
  const [, section = ''] = page.split('\n## Options\n')
  const rows = (section.split('\n## ')[0] ?? '').matchAll(/^\| `(\w+)` \| ([^|]+) \|/gm)
  return Object.fromEntries([...rows].map(([, option = '', standard = '']) => [option, standard.trim()]))
}

function members(file: string, type: string): string[] {
  const names: string[] = []
  parse({ path: file, text: readFileSync(join(root, file), 'utf8') }).walk((node, parents) => {
    const isOf = parents.some(({ id }) => isNode(id) && id.name === type)
    if (node.type === 'TSPropertySignature' && isOf) names.push(String((node.key as Node).name))
  })
  return names
}

/** The page's example as a script, for a fleet of the test's own: its name is the queue's. */
async function example(fleet: string): Promise<string> {
  const [, contents = ''] = /```ts\n(import \{ createFleet[\s\S]*?)```/.exec(page) ?? []
  expect(contents).toContain("fleet: 'billing'")
  mkdirSync(BUNDLES, { recursive: true })
  const outfile = join(BUNDLES, `bullmq-docs-${randomUUID()}.mjs`)
  await build({
    stdin: { contents: contents.replace("'billing'", `'${fleet}'`), resolveDir: root, loader: 'ts' },
    alias: { fleetcron: join(root, 'src/index.ts'), 'fleetcron/bullmq': join(root, 'src/bullmq/index.ts') },
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    external: ['better-sqlite3', 'bullmq', 'ioredis', 'mysql2', 'mysql2/*', 'pg'],
  })
  return outfile
}

describe('the page about BullMQ', () => {
  it('has every option with its default', () => {
    const { prefix, concurrency, keep, lockMs, compareMs } = DOOR_DEFAULTS
    const found = options()
    expect(Object.keys(found).sort()).toEqual(members('src/bullmq/options.ts', 'BullmqDoorOptions').sort())
    expect(found).toMatchObject({
      prefix: `\`'${prefix}'\``,
      concurrency: `\`${concurrency}\``,
      keep: `\`${keep}\``,
      lockDuration: `\`'${lockMs / 1_000}s'\``,
      compareEvery: `\`'${compareMs / 1_000}s'\``,
    })
  })

  it('tells what a BullMQ job returns', () => {
    const fields = members('src/bullmq/outcome.ts', 'BullmqOutcome')
    expect(page).toContain(`\`{ ${fields.join(', ')} }\` of the run`)
  })

  it('has an example that runs and ends well', async () => {
    const { url } = await sharedServer('redis')
    const fleet = `docs-${randomUUID()}`
    const outfile = await example(fleet)
    const folder = mkdtempSync(join(tmpdir(), 'bullmq-docs-'))
    const where = { connection: { url } }
    const queue = new Queue(fleet, where)
    const events = new QueueEvents(fleet, where)
    await events.waitUntilReady()
    const delayed = once(events, 'delayed') as Promise<[{ jobId: string }]>
    const env = { ...process.env, LEDGER: `sqlite:${folder}/ledger.db`, REDIS_URL: url }
    const child = spawn(process.execPath, [outfile], { env, stdio: 'ignore' })
    try {
      const [{ jobId }] = await delayed
      const ended = nextEnded(queue, events, 'completed')
      await (await queue.getJob(jobId))?.promote()
      expect(await ended).toMatchObject({ name: 'rates', returnvalue: { job: 'invoices:rates' } })
      child.kill('SIGTERM')
      expect((await once(child, 'close'))[0]).toBe(0)
    } finally {
      child.kill('SIGKILL')
      await events.close()
      await queue.obliterate({ force: true })
      await queue.close()
      rmSync(outfile)
      rmSync(folder, { recursive: true })
    }
  })

  it('has an example that drains where Redis is away', async () => {
    const outfile = await example('billing')
    const folder = mkdtempSync(join(tmpdir(), 'bullmq-docs-'))
    const env = { ...process.env, LEDGER: `sqlite:${folder}/ledger.db`, REDIS_URL: 'redis://127.0.0.1:1' }
    const child = spawn(process.execPath, [outfile], { env, stdio: ['ignore', 'ignore', 'pipe'] })
    try {
      const ended = once(child, 'close')
      let said = ''
      child.stderr.setEncoding('utf8').on('data', (text: string) => {
        said += text
        if (said.includes('BullMQ reports an error') && !child.killed) child.kill('SIGTERM')
      })
      expect(await ended).toEqual([0, null])
      expect(said).toContain('stopped')
    } finally {
      child.kill('SIGKILL')
      rmSync(outfile)
      rmSync(folder, { recursive: true })
    }
  })
})
