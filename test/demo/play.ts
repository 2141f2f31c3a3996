import { spawn } from 'node:child_process'
import { join } from 'node:path'
import type { Result } from '../../examples/billing/demo/reckoning.js'

const script = join(import.meta.dirname, '../../examples/billing/demo.mjs')

/** The demonstration gives up by itself before that. */
export const DEMO_MS = 100_000

export interface Played {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export const KEYS = [
  'periods',
  'customers',
  'invoices',
  'duplicates',
  'missing',
  'killed',
  'invoicesBeforeKill',
  'paused',
  'lateWritesRefused',
  'takeoverMs',
  'pids',
]

export function play(...args: string[]): Promise<Played> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [script, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
    let stdout = ''
    let stderr = ''
    child.stdout.setEncoding('utf8').on('data', (text) => {
      stdout += text
    })
    child.stderr.setEncoding('utf8').on('data', (text) => {
      stderr += text
    })
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, stdout, stderr }))
  })
}

export function lastLine({ stdout, stderr }: Played): Result {
  const line = stdout.trimEnd().split('\n').at(-1) ?? ''
  if (!line.startsWith('{')) throw new Error(`the last line is no JSON:\n${stdout}\n${stderr}`)
  return JSON.parse(line)
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
