import { configDefaults, defineConfig } from 'vitest/config'
import { SlowFirst } from './test/support/slow-first.ts'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: [...configDefaults.exclude, 'test/observability/**'],
    globalSetup: ['test/support/global-setup.ts'],
    // Next.js builds and browsers take their time; a test that hangs still ends.
    testTimeout: 120_000,
    hookTimeout: 300_000,
    // On a busy machine a second, the default, may pass before a process has answered.
    expect: { poll: { timeout: 30_000 } },
    maxWorkers: 2,
    sequence: { sequencer: SlowFirst },
  },
})
