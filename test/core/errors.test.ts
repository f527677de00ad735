import { readFileSync } from 'node:fs'
import * as core from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { describe, expect, it } from 'vitest'
import { good, MISUSE, SHORT, windowOf } from './misuse.ts'

const page = readFileSync(new URL('../../docs/errors.md', import.meta.url), 'utf8')
const sections = new Set(Array.from(page.matchAll(/^### `(\w+)`$/gm), (match) => match[1]))

describe('the error of', () => {
  it.each(Object.entries(MISUSE))(
    '%s says what is wrong in one form',
    async (_, [call, option, given]) => {
      const error = await thrownBy(call)
      expect(error).toBeInstanceOf(core.SluiceError)
      const { code, message } = error as core.SluiceError
      expect(sections).toContain(code)
      expect(message.slice(0, option.length + 10)).toBe(`Sluice: ${option}: `)
      expect(message.slice(message.lastIndexOf(' ('))).toBe(` (docs/errors.md#${code})`)
      expect(message).toMatch(/ must | expected | set | count|must list/)
      expect(message.slice(option.length + 8)).toContain(given ?? '')
      // Neither a credential nor the id of anyone.
      expect(message).not.toMatch(/auth-|acme|u_17/)
      expect(message.length).toBeLessThan(420)
    },
  )
})

it('a unit that is not counted is told of with the units that are', async () => {
  const tokens = core.slidingWindow({ ...good, name: 't', unit: 'token' })
  const both = core.createLimiter({ store: memory(), policies: [core.slidingWindow(good), tokens] })
  const error = await thrownBy(() => both.check({ tenant: 'a' }, { cost: { tokens: 5 } as never }))
  expect((error as core.InputError).reason).toBe('names "tokens", but policies count request,token')
})

it('a long value is shortened, and an object is not shown', async () => {
  const long = (await thrownBy(() => windowOf({ name: 'x'.repeat(500) }))) as Error
  expect(long.message).toContain(`"${'x'.repeat(60)}"`)
  expect(long.message).not.toContain('x'.repeat(61))
  const object = (await thrownBy(() => windowOf({ limit: { secret: SHORT } }))) as Error
  expect(object.message).toContain('(given: object)')
})

it.each(['60 s', '60s', 60_000, '1 m'])('%j is a window of a minute', async (window) => {
  const clock = core.manualClock(0)
  const perMinute = core.createLimiter({
    store: memory(),
    clock,
    policies: [core.slidingWindow({ ...good, window: window as '60 s' })],
  })
  await perMinute.check({ tenant: 'a' })
  expect(await perMinute.check({ tenant: 'a' })).toMatchObject({ retryAfterMs: 60_000 })
})

it('a store error has the same form', () => {
  const error = new core.StoreError('store_timeout', 'The store did not answer within 5 ms')
  expect(error.message).toBe(
    'Sluice: The store did not answer within 5 ms (docs/errors.md#store_timeout)',
  )
})

async function thrownBy(call: () => unknown): Promise<unknown> {
  try {
    await call()
  } catch (error) {
    return error
  }
  return undefined
}
