import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Limiter } from '@sluice/core'
import { startLocal } from '@sluice/local'
import { expect, inject, it, onTestFinished, vi } from 'vitest'
import { patient } from '../support/docs-block.ts'

it('the page divides its limit as it says', async () => {
  const page = readFileSync(new URL('../../docs/fair-shares.md', import.meta.url), 'utf8')
  const [, code = ''] = /```ts\n\/\/ limits\.ts\n([\s\S]*?)```/.exec(page) ?? []
  const folder = mkdtempSync(fileURLToPath(new URL('shares-', import.meta.url)))
  const server = await startLocal({ redisUrl: inject('redisUrl') })
  onTestFinished(async () => {
    await server.close()
    vi.unstubAllEnvs()
    rmSync(folder, { recursive: true, force: true })
  })
  vi.stubEnv('UPSTASH_REDIS_REST_URL', server.url)
  vi.stubEnv('UPSTASH_REDIS_REST_TOKEN', server.token)
  writeFileSync(join(folder, 'limits.ts'), patient(code, 'shares-page'))
  const { limiter } = (await import(join(folder, 'limits.ts'))) as { limiter: Limiter }

  const greedy = { tenant: 'greedy', plan: 'free' }
  const other = { tenant: 'other', plan: 'pro' }
  expect((await limiter.check(greedy, { cost: 588 })).allowed).toBe(true)
  const denied = await limiter.check(greedy)
  expect(denied.allowed ? undefined : denied.violated?.name).toBe('gpu.share')
  for (let request = 0; request < 12; request += 1) {
    // oxlint-disable-next-line no-await-in-loop -- one after another
    expect((await limiter.check(other)).allowed).toBe(true)
  }
  const full = await limiter.check(other)
  expect(full.allowed ? undefined : full.violated?.name).toBe('gpu')
})
