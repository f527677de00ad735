import { usd } from '@sluice/ai'
import type { Limiter } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { expect, it, vi } from 'vitest'
import { importBlock } from '../support/docs-block.ts'
import { PATIENTLY } from '../support/patience.ts'
import { pageFolder } from '../support/page-folder.ts'

const spend = (limiter: Limiter | undefined, dollars: number, tenant = 'acme') =>
  limiter?.check({ tenant }, { cost: { usd: usd(dollars) } })

it('one e-mail is sent at 80 % of a budget, whichever process sees it first', async () => {
  const sent: (string | undefined)[] = []
  vi.stubGlobal('store', memory())
  vi.stubGlobal('send', async (tenant: string | undefined, text: string) => {
    sent.push(`${tenant}: ${text}`)
  })
  // Two copies of the page's code, as two processes have.
  const [one, other] = await Promise.all(
    ['notice-a', 'notice-b'].map(async (name) => {
      const folder = await pageFolder(name)
      return importBlock<{ limiter: Limiter }>(folder, 'plans.md', 'notice.ts')
    }),
  )
  // Past 80 % of another limit: no e-mail, and none of the budget's is used up.
  for (let call = 0; call < 50; call += 1) await spend(one?.limiter, 0)
  await spend(one?.limiter, 39)
  await spend(other?.limiter, 0.5)
  expect(sent).toEqual([])
  await spend(one?.limiter, 1)
  await vi.waitFor(() => expect(sent).toEqual(['acme: 80 % of your budget is used.']), PATIENTLY)
  await spend(other?.limiter, 1)
  await spend(other?.limiter, 40, 'globex')
  await vi.waitFor(() => expect(sent).toHaveLength(2), PATIENTLY)
  expect(sent[1]).toBe('globex: 80 % of your budget is used.')
})
