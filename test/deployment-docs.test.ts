import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { MODULE_DEFAULTS } from '../src/nest/options.js'

const root = join(import.meta.dirname, '..')
const page = readFileSync(join(root, 'docs/deployment.md'), 'utf8')

/** In which a handler may obey its signal, and what the store takes. */
const AFTER_GRACE_S = 7
const drainS = MODULE_DEFAULTS.drainMs / 1_000

function number(pattern: RegExp, text = page): number {
  const [, digits] = pattern.exec(text) ?? []
  expect(digits, `${pattern}`).toBeDefined()
  return Number(digits?.replaceAll('_', ''))
}

describe('the page about deployment', () => {
  it('has the default of NestJS, and leaves the fleet its time on each platform', () => {
    expect(page).toContain(`\`drain\` in NestJS, ${drainS} s`)
    const preStopS = number(/preStop: .*sleep, "(\d+)"/)
    expect(number(/terminationGracePeriodSeconds: (\d+)/)).toBeGreaterThanOrEqual(preStopS + drainS + AFTER_GRACE_S)
    expect(number(/kill_timeout: (\d+_\d+)/) / 1_000).toBeGreaterThanOrEqual(drainS + AFTER_GRACE_S)
    expect(number(/TimeoutStopSec=(\d+)/)).toBeGreaterThanOrEqual(30 + AFTER_GRACE_S)
    expect(number(/stop_grace_period: (\d+)s/)).toBeGreaterThanOrEqual(30 + AFTER_GRACE_S)
  })

  it("has an example for PM2 that waits longer than its application's grace", () => {
    const settings = createRequire(import.meta.url)(join(root, 'examples/pm2/settings.cjs'))
    const graceS = number(/grace: '(\d+)s'/, readFileSync(join(root, 'examples/pm2/app.mjs'), 'utf8'))
    expect(settings.kill_timeout / 1_000).toBeGreaterThanOrEqual(graceS + AFTER_GRACE_S)
    expect(settings).toMatchObject({ exec_mode: 'cluster', instances: 4, wait_ready: true })
  })

  it.each(['choose-your-door', 'deployment', 'http'])('links in %s lead somewhere', (name) => {
    const text = readFileSync(join(root, `docs/${name}.md`), 'utf8')
    const links = [...text.matchAll(/\]\(([\w-]+\.md)(?:#([\w-]+))?\)/g)]
    expect(links.length).toBeGreaterThan(1)
    for (const [, file = '', anchor] of links) {
      const target = readFileSync(join(root, 'docs', file), 'utf8')
      if (anchor !== undefined) expect([file, headings(target)]).toEqual([file, expect.arrayContaining([anchor])])
    }
  })
})

/** Headings as GitHub names them. */
function headings(text: string): string[] {
  return [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\w\s-]/g, '')
      .replaceAll(' ', '-'),
  )
}
