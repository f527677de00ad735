import { defineConfig } from 'vitest/config'
import shared from './vitest.config.ts'

/** The tests that need a browser, Prometheus or a million lines: `npm run test:observability`. */
export default defineConfig({
  test: { ...shared.test, include: ['test/observability/**/*.test.ts'], exclude: [] },
})
