import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Limiter } from '@sluice/core'
import { startLocal } from '@sluice/local'
import { countJobs, type LimitedQueue, type Worker } from '@sluice/queue'
import { expect, inject, it, onTestFinished, vi } from 'vitest'
import { freshPrefix } from '../support/stores.ts'
import { patient } from '../support/docs-block.ts'

it('the page runs its job, and charges what it has used', async () => {
  const page = readFileSync(new URL('../../docs/queue.md', import.meta.url), 'utf8')
  const [, code = ''] = /```ts\n\/\/ summaries\.ts\n([\s\S]*?)```/.exec(page) ?? []
  const folder = mkdtempSync(fileURLToPath(new URL('queue-', import.meta.url)))
  const server = await startLocal({ redisUrl: inject('redisUrl') })
  onTestFinished(async () => {
    await server.close()
    vi.unstubAllEnvs()
    vi.unstubAllGlobals()
    rmSync(folder, { recursive: true, force: true })
  })
  vi.stubEnv('UPSTASH_REDIS_REST_URL', server.url)
  vi.stubEnv('UPSTASH_REDIS_REST_TOKEN', server.token)
  const seen: unknown[] = []
  vi.stubGlobal('summarise', async (data: unknown) => {
    seen.push(data)
    return { usage: { total_tokens: 812 } }
  })
  const file = join(folder, 'summaries.ts')
  writeFileSync(file, patient(code, freshPrefix()))
  const { limiter, summaries, worker } = (await import(file)) as {
    limiter: Limiter
    summaries: LimitedQueue
    worker: Worker
  }
  await expect.poll(() => countJobs(summaries)).toMatchObject({ waiting: 0, running: 0 })
  await worker.stop()
  expect(seen).toEqual([{ url: 'https://docs.example/1' }])
  const { policies } = await limiter.peek({ tenant: 'acme' }, { cost: { token: 0 } })
  expect(policies[0]?.remaining).toBe(100_000 - 812)
})
