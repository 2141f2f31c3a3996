import { cronCases } from './cron-cases.js'
import { moduleCases } from './module-cases.js'
import type { Stage } from './stage.js'
import { timerCases } from './timer-cases.js'

/** What is said of @nestjs/schedule, of one application at a time. */
export type Case = readonly [name: string, act: (stage: Stage) => Promise<void>]

/**
 * What @nestjs/schedule 12 (MIT, Kamil Mysliwiec) is tested for by its authors, retold here in our own words and code:
 * one case for each of theirs that we know (50), and two of our own, `useExisting` and an interval that throws. They are
 * played against @nestjs/schedule itself, so that they tell the truth about it, then with only the import changed.
 */
export const CASES: readonly Case[] = [...cronCases, ...timerCases, ...moduleCases]
