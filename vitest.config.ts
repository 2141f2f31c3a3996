import { configDefaults, defineConfig } from 'vitest/config'
import { filesLeftOut } from './test/servers/stores.js'

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    exclude: [...configDefaults.exclude, ...filesLeftOut()],
    globalSetup: ['test/servers/setup.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
})
