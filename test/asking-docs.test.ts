import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { isNode, type Node, parse } from './architecture/source.js'

const root = join(import.meta.dirname, '..')
const page = readFileSync(join(root, 'docs/asking.md'), 'utf8')

/** The words in back quotes of the first cell of each row under a heading, methods without what they are given. */
function words(heading: string): string[] {
  const [, section = ''] = page.split(`\n${heading}\n`)
  const [text = ''] = section.split(/\n##+ /)
  return text.split('\n').flatMap((line) => {
    const [, first = ''] = line.split('|')
    return [...first.matchAll(/`([\w-]+)[^`]*`/g)].map(([, word = '']) => word)
  })
}

/** Names of the members that a type of the source is written with; those of a nested type are left out. */
function members(file: string, type: string): string[] {
  const names: string[] = []
  parse({ path: file, text: readFileSync(join(root, file), 'utf8') }).walk((node, parents) => {
    if (node.type !== 'TSPropertySignature' && node.type !== 'TSMethodSignature') return
    const owner = parents.find(({ id }) => isNode(id) && id.name === type)
    const isNested = parents.filter((one) => one.type === 'TSTypeLiteral' || one.type === 'TSInterfaceBody').length > 1
    if (owner === undefined || isNested) return
    const { name, value } = node.key as Node
    names.push(String(name ?? value))
  })
  return names
}

/** The texts of a union that is the type of a member, or, without one, that the type stands for. */
function unionOf(file: string, type: string, member?: string): string[] {
  const found: string[] = []
  parse({ path: file, text: readFileSync(join(root, file), 'utf8') }).walk((node, parents) => {
    if (node.type !== 'Literal' || typeof node.value !== 'string') return
    const isIn = parents.some(({ id }) => isNode(id) && id.name === type)
    const isOf =
      member === undefined ||
      parents.some((one) => one.type === 'TSPropertySignature' && (one.key as Node).name === member)
    if (isIn && isOf) found.push(node.value)
  })
  return found
}

describe('the page about asking', () => {
  it.each([
    ['## Events', members('src/fleet/events.ts', 'FleetEvents')],
    [
      '### What the history has',
      [...unionOf('src/ledger/types.ts', 'LedgerEvent', 'kind'), ...unionOf('src/ledger/types.ts', 'Asked')],
    ],
    ['## Health', members('src/fleet/health.ts', 'Health')],
  ])('has under %s what the source has, and nothing else', (heading, expected) => {
    expect(expected.length).toBeGreaterThan(5)
    expect(words(heading).sort()).toEqual([...expected].sort())
  })

  it('has every method that asks', () => {
    const others = ['name', 'effects', 'job', 'schedules', 'handler', 'start', 'stop', 'on', 'once']
    const asking = members('src/fleet/fleet.ts', 'Fleet').filter((name) => !others.includes(name))
    expect([...words('## Commands'), ...words('## Look-ups')].sort()).toEqual(asking.sort())
  })
})
