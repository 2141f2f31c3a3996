import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ERROR_CODES } from '../src/errors.js'
import { parse } from './architecture/source.js'

const root = join(import.meta.dirname, '..')
const raised = codesIn(join(root, 'src'))
const sections = sectionsOf(readFileSync(join(root, 'docs/errors.md'), 'utf8'))

describe('the catalogue of errors', () => {
  it('documents every code, and no other, in the order of the source', () => {
    expect([...sections.keys()]).toEqual([...ERROR_CODES])
  })

  it('has each code once', () => {
    expect(new Set(ERROR_CODES).size).toBe(ERROR_CODES.length)
  })

  it.each(ERROR_CODES.map((code) => [code]))('says of %s what happened and what to do', (code) => {
    expect(sections.get(code)).toMatch(/^[A-Z][^\n]+\.\n\*\*What to do:\*\* [^\n]+\.$/)
  })

  it.each(ERROR_CODES.map((code) => [code]))('has a place in the source that raises %s', (code) => {
    expect(raised).toContain(code)
  })
})

/** Every text that stands as a value in the source outside its tests and the catalogue itself; a type raises nothing. */
function codesIn(folder: string): ReadonlySet<unknown> {
  const found = new Set<unknown>()
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  for (const path of paths.filter(
    (name) => name.endsWith('.ts') && !name.endsWith('.test.ts') && name !== 'errors.ts',
  )) {
    parse({ path, text: readFileSync(join(folder, path), 'utf8') }).walk((node, parents) => {
      if (node.type === 'Literal' && parents.at(-1)?.type !== 'TSLiteralType') found.add(node.value)
    })
  }
  return found
}

/** The text under each heading of the second level. */
function sectionsOf(page: string): Map<string, string> {
  const [, ...parts] = page.split(/^## /m)
  return new Map(
    parts.map((part) => {
      const [code = '', ...lines] = part.split('\n')
      return [code, lines.join('\n').trim()]
    }),
  )
}
