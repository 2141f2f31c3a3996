import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { run } from '../../src/cli/program.js'

const page = readFileSync(join(import.meta.dirname, '../../docs/cli.md'), 'utf8')

async function help(...args: string[]): Promise<string> {
  let out = ''
  const nothing = () => {}
  const terminal = {
    out: (text: string) => {
      out += text
    },
    err: nothing,
    now: () => 0,
    hostZone: () => 'UTC',
    user: () => 'ada',
    stopped: async () => {},
  }
  expect(await run([...args, '--help'], terminal)).toBe(0)
  return out
}

describe('docs/cli.md', () => {
  it('names every command, and no other', async () => {
    const documented = [...page.matchAll(/^\| `([a-z-]+)[^|]*\| [a-z]/gm)].map(([, name]) => name)
    const commands = [...(await help()).matchAll(/^ {2}([a-z-]+)(?: \[options\])/gm)].map(([, name]) => name)
    const findings = [...page.matchAll(/^\| `([a-z-]+)` \| (?:yes|no|from|if|1) /gm)].map(([, name]) => name)
    expect(documented.filter((name) => !findings.includes(name)).sort()).toEqual(commands.sort())
    expect(commands).toHaveLength(19)
  })

  it('shows an example in the help of each', async () => {
    const commands = [...(await help()).matchAll(/^ {2}([a-z-]+) \[options\]/gm)].map(([, name]) => name ?? '')
    for (const name of commands)
      expect(await help(name)).toMatch(new RegExp(`Example:\n[\\s\\S]*\\$ fleetcron ${name} `))
  })

  it('names every finding of the doctor, and no other', () => {
    const folder = join(import.meta.dirname, '../../src/cli')
    const files = readdirSync(folder).filter((name) => name.endsWith('.ts'))
    const source = files.map((name) => readFileSync(join(folder, name), 'utf8')).join('\n')
    const found = new Set([...source.matchAll(/finding: '([a-z-]+)'/g)].map(([, name]) => name))
    const [, table = ''] = /## What the doctor looks for\n([\s\S]*?)\n## /.exec(page) ?? []
    expect([...table.matchAll(/^\| `([a-z-]+)` /gm)].map(([, name]) => name).sort()).toEqual([...found].sort())
  })
})
