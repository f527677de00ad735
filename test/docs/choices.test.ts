import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Limiter } from '@sluice/core'
import { expect, it } from 'vitest'
import { importBlock, patient, readBlock } from '../support/docs-block.ts'
import { pageFolder } from '../support/page-folder.ts'
import { freshPrefix } from '../support/stores.ts'

it('of several keys of a provider, the first with room is taken, until none has', async () => {
  const folder = await pageFolder('keys')
  const { takeKey } = await importBlock<{ takeKey: () => Promise<string | undefined> }>(
    folder,
    'choices.md',
    'keys.ts',
    { '500': '2', 'upstash()': `upstash({ prefix: '${freshPrefix()}', timeoutMs: 30_000 })` },
  )
  const taken = [await takeKey(), await takeKey(), await takeKey(), await takeKey()]
  expect(taken).toEqual(['first', 'first', 'second', 'second'])
  expect(await takeKey()).toBeUndefined()
})

it('the ladder of the page answers by the first model that fits, until none does', async () => {
  const folder = await pageFolder('choices')
  const limits = patient(readBlock('choices.md', 'limits.ts'), freshPrefix())
  writeFileSync(join(folder, 'limits.ts'), limits)
  const { answer } = await importBlock<{ answer: (tenant: string) => Promise<Response> }>(
    folder,
    'choices.md',
    'answer.ts',
  )

  const answers: Response[] = []
  // oxlint-disable-next-line no-await-in-loop -- one after another
  for (let call = 0; call < 15; call += 1) answers.push(await answer('acme'))
  const texts = await Promise.all(answers.map((one) => one.text()))
  // Each costs $0.007 of $0.10: three while $0.08 are left, then those of $0.01.
  expect(texts.slice(0, 3)).toEqual(Array(3).fill('Answered by gpt-6.2-sol'))
  expect(texts.slice(3, 13)).toEqual(Array(10).fill('Answered by gpt-6-luna'))
  expect(answers.slice(13).map(({ status }) => status)).toEqual([429, 429])

  const { limiter } = (await import(join(folder, 'limits.ts'))) as { limiter: Limiter }
  const { policies } = await limiter.peek({ tenant: 'acme' }, { cost: { usd: 0 } })
  expect(policies).toMatchObject([{ name: 'budget.daily', remaining: 9_000 }])
})
