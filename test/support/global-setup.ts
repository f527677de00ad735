import { startRedisServer } from '@sluice/local'
import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  interface ProvidedContext {
    /** A real redis-server, shared by all test files: keep to keys of your own. */
    redisUrl: string
  }
}

/** Starts the redis-server that the tests run against. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const redis = await startRedisServer()
  project.provide('redisUrl', redis.url)
  return async () => {
    await redis.stop()
  }
}
