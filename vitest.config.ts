import { configDefaults, defineConfig } from 'vitest/config'
import { filesLeftOut } from './test/servers/stores.js'

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    exclude: [...configDefaults.exclude, ...filesLeftOut()],
    globalSetup: ['test/servers/setup.ts'],
    testTimeout: 120_000,
    // Most files wait for servers and processes: two at a time also where there are two cores.
    maxWorkers: 2,
    // A server that is not on the machine is installed by the hook that asks for it first.
    hookTimeout: 300_000,
  },
})
