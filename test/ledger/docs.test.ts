import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import * as ledger from '../../src/ledger/index.js'
import { diagram, freshTable, passedTable } from './docs-tables.js'

const root = join(import.meta.dirname, '../..')
const page = readFileSync(join(root, 'docs/ledger.md'), 'utf8')
const source = readdirSync(join(root, 'src/ledger'))
  .map((name) => readFileSync(join(root, 'src/ledger', name), 'utf8'))
  .join('\n')

/** The first cells of the table under a heading, without backticks. */
function firstCells(heading: string): string[] {
  const [, after = ''] = page.split(`\n## ${heading}\n`)
  const [section = ''] = after.split('\n## ')
  const rows = section.split('\n').filter((line) => line.startsWith('| '))
  return rows.slice(2).map((row) =>
    row
      .split(' | ')
      .slice(0, 2)
      .join(' ')
      .replace(/^\| |`/g, ''),
  )
}

describe('docs/ledger.md', () => {
  test('draws the states and events of the source', () => {
    expect(page).toContain(diagram())
  })

  test('explains every event, and no other', () => {
    const events = new Set(ledger.TRANSITIONS.map(({ event }) => event))
    expect(firstCells('Events').map((cell) => cell.split(' ')[0])).toEqual([...events])
  })

  test('explains every reason, and no other', () => {
    const reasons = Object.entries(ledger.REASONS).flatMap(([state, words]) => words.map((word) => `${state} ${word}`))
    expect(firstCells('Reasons')).toEqual(reasons)
  })

  test('every reason is given somewhere in the source', () => {
    for (const word of new Set(Object.values(ledger.REASONS).flat())) {
      const given = source.split(`'${word}'`).length - 1
      expect(given, word).toBeGreaterThan(1)
    }
  })

  test('explains every command', () => {
    const commands = [
      'define',
      'keep',
      'attend',
      'poke',
      'trigger',
      'retryRun',
      'backfill',
      'pause',
      'resume',
      'cancel',
      'retire',
      'settleRun',
      'recordUnowned',
    ]
    expect(firstCells('Commands').map((cell) => cell.split(' ')[0])).toEqual(commands)
    for (const command of commands) expect(ledger).toHaveProperty(command, expect.any(Function))
  })

  test('shows the tested table of policies', () => {
    expect(page).toContain(freshTable())
    expect(page).toContain(passedTable())
  })
})
