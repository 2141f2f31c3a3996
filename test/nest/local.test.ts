import 'reflect-metadata'
import { describe, expect, it } from 'vitest'
import { CASES } from './public-suite/cases.js'
import { LOCAL, SCHEDULE } from './public-suite/doors.js'
import { onStage } from './public-suite/stage.js'

it('has 52 cases of different names', () => {
  expect(new Set(CASES.map(([name]) => name)).size).toBe(52)
})

describe('@nestjs/schedule itself', () => {
  it.each(CASES)('%s', (_, act) => onStage(SCHEDULE, act))
})

describe('fleetcron/nest where no fleet is named: only the import is changed', () => {
  it.each(CASES)('%s', (_, act) => onStage(LOCAL, act))
})
