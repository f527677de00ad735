import { mkdtempSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { usd } from '@sluice/ai'
import type { Limiter } from '@sluice/core'
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest'
import { limitsIn } from '../support/decisions.ts'
import { importBlock } from '../support/docs-block.ts'

// Inside the workspace, so that the packages are found as a user's would be.
const folder = mkdtempSync(fileURLToPath(new URL('configuration-', import.meta.url)))
afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
})
afterEach(() => {
  vi.useRealTimers()
})

const blockOf = <Exports>(page: string, name: string): Promise<Exports> =>
  importBlock<Exports>(folder, page, name)

describe('budgets for an organisation', () => {
  it('are decided together, and that of a run takes no part outside one', async () => {
    const { limiter } = await blockOf<{ limiter: Limiter }>('plans.md', 'organisation.ts')
    const subject = { org: 'acme', team: 'search', user: 'u_17' }
    const spend = (dollars: number, more: object = {}) =>
      limiter.check({ ...subject, ...more }, { cost: { usd: usd(dollars) } })
    const first = await spend(0.5, { run: 'r' })
    const [org, team, user, run] = [500, 100, 5, 0.5].map(usd)
    expect(limitsIn(first)).toEqual({ org, team, user, run })
    expect(await spend(0.1, { run: 'r' })).toMatchObject({ violated: { name: 'run' } })
    expect((await spend(4.5)).skipped).toMatchObject([{ name: 'run', why: 'missing_dimension' }])
    expect(await spend(0.1)).toMatchObject({ violated: { name: 'user' } })
  })
})

describe('a limit of its own for each tenant', () => {
  it('applies from the sale on, and others keep the default', async () => {
    const { limiter, sell } = await blockOf<{
      limiter: Limiter
      sell: (tenant: string, dollars: number) => Promise<void>
    }>('configuration.md', 'tenants.ts')
    await sell('acme', 250)
    const ask = (tenant: string) => limiter.check({ tenant }, { cost: { usd: usd(100) } })
    expect(await ask('acme')).toMatchObject({ allowed: true, policies: [{ limit: usd(250) }] })
    expect(await ask('other')).toMatchObject({ allowed: false, policies: [{ limit: usd(50) }] })
  })
})

describe('a limit that is raised for a time', () => {
  it('falls back at its end, or when it is ended', async () => {
    vi.useFakeTimers({ now: Date.UTC(2026, 10, 27, 9), toFake: ['Date'] })
    const { limiter } = await blockOf<{ limiter: Limiter }>('configuration.md', 'limits.ts')
    const { change, raise, raised, endRaise } = await importBlock<{
      change: () => Promise<void>
      raise: (tenant: string, until: Date) => Promise<void>
      raised: (tenant: string) => Promise<readonly unknown[]>
      endRaise: (tenant: string) => Promise<void>
    }>(folder, 'configuration.md', 'raise.ts')
    const until = new Date('2026-11-28T18:00Z')
    const limits = async () => [
      limitsIn(await limiter.check({ tenant: 'acme' }))['rpm'],
      limitsIn(await limiter.check({ tenant: 'other' }))['rpm'],
    ]
    await raise('acme', until)
    await raise('other', until)
    expect(await limits()).toEqual([120, 120])
    // As the comment in the block says.
    expect(await raised('acme')).toEqual([
      {
        policy: 'rpm',
        subject: { tenant: 'acme' },
        settings: {},
        temporary: { settings: { limit: 120 }, until: 1_795_888_800_000 },
      },
    ])
    await endRaise('other')
    expect(await limits()).toEqual([120, 60])
    vi.setSystemTime(until)
    expect(await limits()).toEqual([60, 60])
    expect(await raised('acme')).toEqual([])
    await change()
    expect(limitsIn(await limiter.check({ tenant: 'acme' }))).toEqual({ rpm: 30, daily: 100 })
  })
})

describe('a billing day for each tenant', () => {
  it('applies from the end of the month that runs, or from a cut on', async () => {
    vi.useFakeTimers({ now: Date.parse('2026-11-10T09:00Z'), toFake: ['Date'] })
    const { limiter, subscribe, cut } = await blockOf<{
      limiter: Limiter
      subscribe: (tenant: string) => Promise<void>
      cut: (tenant: string) => Promise<void>
    }>('configuration.md', 'tenants.ts')
    const end = async () => {
      const { policies } = await limiter.check({ tenant: 'acme' }, { cost: { usd: 1 } })
      return policies[0]?.resetsAt
    }
    expect(await end()).toBe('2026-12-01T00:00:00+00:00[UTC]')
    await subscribe('acme')
    expect(await end()).toBe('2026-12-01T09:00:00+09:00[Asia/Tokyo]')
    await cut('acme')
    expect(await end()).toBe('2026-11-30T06:00:00+09:00[Asia/Tokyo]')
  })
})
