import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const root = join(import.meta.dirname, '../..')
const cache = join(root, 'node_modules/.cache/fleetcron-run-value')
mkdirSync(cache, { recursive: true })

/** An application's file as most are: `Run` is imported like any class, and metadata of parameters is emitted. */
const SOURCE = `
import 'reflect-metadata'
import { Injectable } from '@nestjs/common'
import { Cron, Run } from 'NEST'

@Injectable()
class Invoices {
  @Cron('0 0 * * *', { name: 'daily' })
  bill(run: Run): string { return run.key }
}
const [type] = Reflect.getMetadata('design:paramtypes', Invoices.prototype, 'bill')
console.log(type === Run, type.name)
`

it('is a value under emitDecoratorMetadata', () => {
  const folder = mkdtempSync(join(cache, 'app-'))
  try {
    const nest = relative(folder, join(root, 'src/nest/index.js')).replaceAll('\\', '/')
    writeFileSync(join(folder, 'app.ts'), SOURCE.replace('NEST', nest))
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
    const compilerOptions = {
      emitDecoratorMetadata: true,
      noEmit: false,
      outDir: 'out',
      rootDir: root,
      declaration: false,
    }
    const config = { extends: join(root, 'tsconfig.json'), compilerOptions, files: ['app.ts'], include: [] }
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config))
    const tsc = fileURLToPath(new URL('bin/tsc', import.meta.resolve('typescript/package.json')))
    execFileSync(process.execPath, [tsc, '-p', folder], { encoding: 'utf8' })
    const built = join(folder, 'out', relative(root, folder), 'app.js')
    expect(execFileSync(process.execPath, [built], { encoding: 'utf8' })).toBe('true Run\n')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
