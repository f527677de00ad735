import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Limiter } from '@sluice/core'
import { countJobs, type LimitedQueue, type Worker } from '@sluice/queue'
import { expect, it, vi } from 'vitest'
import { freshPrefix } from '../support/stores.ts'
import { patient, readBlock } from '../support/docs-block.ts'
import { pageFolder } from '../support/page-folder.ts'

it('the page runs its job, and charges what it has used', async () => {
  const folder = await pageFolder('queue')
  const seen: unknown[] = []
  vi.stubGlobal('summarise', async (data: unknown) => {
    seen.push(data)
    return { usage: { total_tokens: 812 } }
  })
  const file = join(folder, 'summaries.ts')
  writeFileSync(file, patient(readBlock('queue.md', 'summaries.ts'), freshPrefix()))
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
