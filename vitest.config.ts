import { configDefaults, defineConfig } from 'vitest/config'
import { SlowFirst } from './test/support/slow-first.ts'
import { filesOf, running, workersOf } from './test/suites.ts'

const { include, exclude } = filesOf(running)

export default defineConfig({
  test: {
    include,
    exclude: [...configDefaults.exclude, ...exclude],
    globalSetup: ['test/support/global-setup.ts'],
    // Next.js builds and browsers take their time; a test that hangs still ends.
    testTimeout: 120_000,
    hookTimeout: 300_000,
    // On a busy machine a second, the default, may pass before a process has answered.
    expect: { poll: { timeout: 30_000 } },
    maxWorkers: workersOf(running),
    sequence: { sequencer: SlowFirst },
    // Node loads the built packages, as for their users. Only workerd has the modules that one of them imports.
    server: { deps: { external: [/\/packages\/(?!cloudflare)[^/]+\/dist\//] } },
  },
})
