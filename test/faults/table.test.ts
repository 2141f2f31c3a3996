import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type Node, parse } from '../architecture/source.js'

const root = join(import.meta.dirname, '../..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')

interface Fault {
  readonly id: string
  readonly kind: string
}

/** Failures that were reported of other schedulers, and which tests hold them off here. */
const FAULTS = JSON.parse(read('test/cases/faults.json')) as Fault[]
const TESTS = JSON.parse(read('test/cases/fault-tests.json')) as Readonly<Record<string, readonly string[]>>
const OF_NEST = JSON.parse(read('test/cases/nest-faults.json')) as Fault[]

describe('every reported fault', () => {
  it('has its line in the table, and no other has', () => {
    expect(Object.keys(TESTS).sort()).toEqual(FAULTS.map(({ id }) => id).sort())
  })

  it.each(FAULTS.map(({ id, kind }) => [id, kind] as const))('%s %s has a test of its name', (id) => {
    const files = TESTS[id] ?? []
    expect(files.length).toBeGreaterThan(0)
    for (const file of files)
      expect(titlesOf(file), file).toContainEqual(expect.stringMatching(new RegExp(`\\b${id}\\b`)))
  })
})

describe('what finds titles', () => {
  it('knows a title from a comment', () => {
    const text = `// F01 in a comment\nit('F02 x', () => {})\ntest.each([1])("F03 %i", () => {})\ndescribe('F04', () => {})\nf('F05')`
    expect(titlesIn(text)).toEqual(['F02 x', 'F03 %i', 'F04'])
  })
})

function titlesOf(file: string): string[] {
  const titles = titlesIn(read(file), file)
  // These are played from a list of cases, whose ids stand in the titles.
  return titles.some((title) => title.startsWith('$id ')) ? OF_NEST.map(({ id }) => id) : titles
}

/** Texts that tests and groups of tests begin with, also behind a table. */
function titlesIn(text: string, path = 'test/a.test.ts'): string[] {
  const titles: string[] = []
  parse({ path, text }).walk((node) => {
    if (node.type !== 'CallExpression' || !isRunner(node.callee as Node)) return
    const [title] = node.arguments as Node[]
    if (typeof title?.value === 'string') titles.push(title.value)
  })
  return titles
}

/** `it`, `it.each(…)` and their likes. */
function isRunner(callee: Node): boolean {
  if (callee.type === 'Identifier') return ['it', 'test', 'describe'].includes(String(callee.name))
  if (callee.type === 'CallExpression') return isRunner(callee.callee as Node)
  return callee.type === 'MemberExpression' && isRunner(callee.object as Node)
}
