import { globSync, readFileSync } from 'node:fs'
import { configDefaults, defineConfig } from 'vitest/config'
import { SlowFirst } from './test/support/slow-first.ts'
import { filesOf, running, sharesProcess, workersOf } from './test/suites.ts'

const { include, exclude } = filesOf(running)
// Folders that a test writes stay if its run is cut off.
const written = readFileSync('.gitignore', 'utf8').match(/^test\/.+\/$/gm) ?? []
const files = globSync(include, {
  exclude: [...configDefaults.exclude, ...exclude, ...written.map((folder) => `${folder}**`)],
})

export default defineConfig({
  // Two suites may run at once, and each writes how long its files took.
  cacheDir: `node_modules/.vite/${running ?? 'tests'}`,
  test: {
    globalSetup: ['test/support/global-setup.ts'],
    maxWorkers: workersOf(running),
    sequence: { sequencer: SlowFirst },
    projects: [
      project(
        'own process',
        true,
        files.filter((file) => !sharesProcess(file)),
      ),
      project('one process', false, files.filter(sharesProcess)),
    ],
  },
})

function project(name: string, isolate: boolean, own: string[]) {
  return {
    test: {
      name,
      isolate,
      include: own,
      ...(!isolate && { setupFiles: ['test/support/one-process.ts'] }),
      // Next.js builds and browsers take their time; a test that hangs still ends.
      testTimeout: 120_000,
      hookTimeout: 300_000,
      // On a busy machine a second, the default, may pass before a process has answered.
      expect: { poll: { timeout: 30_000 } },
      // Node loads the built packages, as for their users. Only workerd has the modules that one of them imports.
      server: { deps: { external: [/\/packages\/(?!cloudflare)[^/]+\/dist\//] } },
    },
  }
}
