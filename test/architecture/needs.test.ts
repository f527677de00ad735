import { expect, it } from 'vitest'
import { needsOf, testsNamed } from '../../scripts/needs.ts'

it.each<[file: string, builds: string[], cluster: boolean]>([
  ['test/core/limiter/silent-mistakes', ['@sluice/core', '@sluice/local'], false],
  ['test/queue/handlers', ['@sluice/core', '@sluice/local', '@sluice/queue'], false],
  ['test/e2e/next', ['@sluice/demo', '@sluice/local'], false],
  ['test/docs/links', ['./packages/*', '@sluice/local'], false],
])('%s needs %j built, and a cluster: %s', (file, builds, cluster) => {
  expect(needsOf(testsNamed([`${file}.test.ts`]))).toEqual({ builds, cluster })
})

it('a file that runs on every store needs a cluster, and the packages of their helpers', () => {
  const { builds, cluster } = needsOf(testsNamed(['test/core/explain/stores']))
  expect(builds).toEqual(expect.arrayContaining(['@sluice/cloudflare', '@sluice/core']))
  expect(cluster).toBe(true)
})

it('an app or a worker that a test names by its folder is built with the packages of its files', () => {
  const { builds } = needsOf(testsNamed(['test/next/edge-middleware.test.ts']))
  expect(builds).toEqual(expect.arrayContaining(['@sluice/next']))
  const { builds: worker } = needsOf(testsNamed(['test/queue/cloudflare-worker.test.ts']))
  expect(worker).toEqual(expect.arrayContaining(['@sluice/cloudflare', '@sluice/queue']))
})

it('a folder and a line name files as vitest finds them', () => {
  expect(testsNamed(['test/architecture/needs.test.ts:3'])).toEqual([
    'test/architecture/needs.test.ts',
  ])
  expect(testsNamed(['test/architecture'])).toContain('test/architecture/needs.test.ts')
  expect(testsNamed(['test/no-such-folder'])).toEqual([])
})
