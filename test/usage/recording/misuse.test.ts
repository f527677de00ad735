import { fixedWindow } from '@sluice/core'
import { recordUsage } from '@sluice/usage'
import { usage } from '@sluice/usage/report'
import { describe, expect, it } from 'vitest'
import { setUp } from '../../support/limiters.ts'
import { recording } from '../support.ts'

describe('misuse', () => {
  it.each([
    [{ tenants: 'secret' }, 'recordUsage.tenants: must be "plain", "hashed" or { secret }'],
    [{ tenants: { secret: '' } }, 'recordUsage.tenants'],
    [{ flushEvery: 'soon' }, 'recordUsage.flushEvery'],
    [{ maxCells: 0 }, 'recordUsage.maxCells'],
    [{ waitUntil: true }, 'recordUsage.waitUntil'],
    [{ dimensions: 'team' }, 'recordUsage.dimensions: must be a list of other dimensions than'],
    [{ dimensions: ['team', 'team'] }, 'recordUsage.dimensions'],
    [{ dimensions: ['usd'] }, 'recordUsage.dimensions'],
    [{ dimensions: ['a=b'] }, 'recordUsage.dimensions'],
    [{ every: '5s' }, 'recordUsage'],
  ])('%j is refused', (options, message) => {
    expect(() => recordUsage(options as never)).toThrow(message)
  })

  it('is named when usage is read', async () => {
    const { limiter } = recording()
    const { limiter: without } = setUp([
      fixedWindow({ name: 'rpm', limit: 9, window: '1m', per: ['tenant'] }),
    ])
    await expect(usage(without)).rejects.toThrow('must have recordUsage(…) in its extensions')
    await expect(usage(limiter, { from: 'monday' })).rejects.toThrow('usage.from')
    await expect(usage(limiter, { from: Date.UTC(2100, 0) })).rejects.toThrow('usage.from')
    await expect(usage(limiter, { by: 'fortnight' as never })).rejects.toThrow('usage.by')
  })
})
