import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Limiter } from '@sluice/core'
import { expect, it } from 'vitest'
import { patient, readBlock } from '../support/docs-block.ts'
import { pageFolder } from '../support/page-folder.ts'

it('the page divides its limit as it says', async () => {
  const folder = await pageFolder('shares')
  const limits = patient(readBlock('plans.md', 'limits.ts'), 'shares-page')
  writeFileSync(join(folder, 'limits.ts'), limits)
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
