import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ERROR_CODES } from '../src/errors.js'

const root = join(import.meta.dirname, '..')
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
})

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
