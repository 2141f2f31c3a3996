import 'reflect-metadata'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { CASES, type Case } from './public-suite/cases.js'
import { FLEET } from './public-suite/doors.js'
import { onStage } from './public-suite/stage.js'

const page = readFileSync(join(import.meta.dirname, '../../docs/nestjs.md'), 'utf8')
const differences = tableUnder('### What differs in a fleet')
const differs = ([name]: Case) => differences.has(name)

describe('a fleet on the memory store: what the page does not list is as in @nestjs/schedule', () => {
  it.each(CASES.filter((one) => !differs(one)))('%s', (_, act) => onStage(FLEET, act))
})

describe('what the page lists as different is so, and for the reason it gives', () => {
  it.each(CASES.filter(differs))('%s', async (name, act) => {
    const told = differences.get(name)
    await expect(onStage(FLEET, act)).rejects.toThrow(told?.error)
    expect(told?.reason).toMatch(/^\S.{20,}\S$/)
  })

  it('lists cases only that exist', () => {
    const names = CASES.map(([name]) => name)
    expect([...differences.keys()].filter((name) => !names.includes(name))).toEqual([])
  })
})

/** The rows of the table under a heading: case, what it says in a fleet (in backticks), and why. */
function tableUnder(heading: string): ReadonlyMap<string, { error: string; reason: string }> {
  const [, section = ''] = page.split(heading)
  const [text = ''] = section.split('\n#')
  const rows = text.split('\n').flatMap((line) => {
    const [, name = '', said = '', reason = ''] = line.split('|').map((cell) => cell.trim())
    return /^(cron|interval|timeout|options): /.test(name)
      ? [[name, { error: said.replaceAll('`', ''), reason }] as const]
      : []
  })
  return new Map(rows)
}
