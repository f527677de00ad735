import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    // Next.js builds and browsers take their time; a test that hangs still ends.
    testTimeout: 120_000,
    hookTimeout: 300_000,
    maxWorkers: 2,
  },
})
