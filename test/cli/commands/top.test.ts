import { setTimeout as delay } from 'node:timers/promises'
import { flushUsage } from '@sluice/usage'
import type { UsageRow } from '@sluice/usage/report'
import { afterAll, expect, it } from 'vitest'
import { rowsSince, sumsByTenant } from '../../../packages/cli/dist/usage-sums.js'
import { sharedRedisOverHttp } from '../../support/running-redis.ts'
import { freshPrefix } from '../../support/stores.ts'
import { limitsFile } from '../limits.ts'
import { createOperator, jsonOf } from '../operator.ts'
import { removeProjects } from '../project.ts'

const redis = sharedRedisOverHttp()
afterAll(removeProjects)

it('shows what was used between two reads, and nothing of before', async () => {
  const { app, running } = createOperator(redis.local)
  const spend = async (tenant: string, dollars: number): Promise<void> => {
    const cost = { request: 1, usd: dollars * 1_000_000 }
    await running.check({ tenant, route: 'chat' }, { cost })
    await flushUsage(running)
  }
  await spend('long-ago', 9)
  app.write('src/quiet.ts', limitsFile(freshPrefix()))
  const over = new AbortController()
  const spendMeanwhile = async (): Promise<void> => {
    for (let count = 0; !over.signal.aborted; count += 1) {
      await spend(count % 3 === 0 ? 'globex' : 'acme', 0.001)
      await delay(100)
    }
  }
  const commands = Promise.all([
    app.sluice(['top', '--every', '5s', '--json']),
    app.sluice(['top', '--every', '5s', '--limits', 'src/quiet.ts']),
  ]).finally(() => over.abort())
  const [[watched, unused]] = await Promise.all([commands, spendMeanwhile()])
  const { tenants } = jsonOf(watched) as { tenants: { tenant: string; usd: number }[] }
  expect(tenants.map(({ tenant }) => tenant)).toEqual(['acme', 'globex'])
  expect(tenants.every(({ usd }) => usd > 0)).toBe(true)
  expect(unused.out).toMatch(/^In the last [1-9]\d* s, for a minute: nothing was recorded\.$/)
})

const row = (start: number, tenant: string, usd: number): UsageRow => ({
  start,
  tenant,
  route: '',
  model: '',
  plan: '',
  outcome: 'allowed',
  requests: 1,
  tokens: 0,
  usd,
})

it('counts an hour that has begun between the reads as new, and forgets the one that has left', () => {
  const before = [row(0, 'acme', 7), row(1, 'acme', 5)]
  const after = [row(1, 'acme', 6), row(2, 'acme', 3), row(2, 'globex', 1)]
  const sums = sumsByTenant(rowsSince(before, after))
  expect([...sums].map(([tenant, { usd }]) => [tenant, usd])).toEqual([
    ['acme', 4],
    ['globex', 1],
  ])
})

it.each([
  [
    'top --every soon',
    '--every soon must be a duration from 5s, in which processes save usage, to 1h',
  ],
  ['top --every 2h', '--every 2h must be a duration from 5s'],
  ['top --every 1s', '--every 1s must be a duration from 5s, in which processes save usage, to 1h'],
  ['top --top 0', '--top 0 must be a number from 1'],
])('%s is refused', async (args, says) => {
  const { err, exitCode } = await createOperator(redis.local).app.sluice(args.split(' '))
  expect({ err, exitCode }).toEqual({ err: expect.stringContaining(says) as string, exitCode: 1 })
})
