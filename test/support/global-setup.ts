import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startRedisServer } from '@sluice/local'
import type { TestProject, Vitest } from 'vitest/node'
import { running } from '../suites.ts'
import { startRedisCluster } from './redis-cluster.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** A real redis-server, shared by all test files: keep to keys of your own. */
    redisUrl: string
    /** The ports of the masters of a Redis Cluster. None in `npm test` and for files that do not need it. */
    clusterPorts: readonly number[]
    /** A folder for files that tests write. It is removed after the last test. */
    folder: string
  }
}

/** Starts the redis-server that the tests run against. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const redis = await startRedisServer()
  project.provide('redisUrl', redis.url)
  const folder = mkdtempSync(join(tmpdir(), 'sluice-tests-'))
  project.provide('folder', folder)
  const isNeeded =
    ['stores', 'proofs', 'all'].includes(running ?? '') && process.env['TEST_CLUSTER'] !== 'none'
  const cluster = isNeeded ? await startRedisCluster() : undefined
  project.provide('clusterPorts', cluster?.nodes.map(({ port }) => port) ?? [])
  return async () => {
    await Promise.all([redis.stop(), cluster?.stop()])
    rmSync(folder, { recursive: true, force: true })
    assertNamed(project.vitest)
  }
}

/** Vitest passes a run whose name, `-t`, matches no test. */
function assertNamed({ config, state }: Vitest): void {
  const { testNamePattern } = config
  const hasRun = state
    .getTestModules()
    .some(({ children }) =>
      [...children.allTests()].some((test) => test.result().state !== 'skipped'),
    )
  if (!testNamePattern || hasRun) return
  console.error(`NOT TESTED. No test has a name that matches ${testNamePattern.source}`)
  process.exitCode = 1
}
