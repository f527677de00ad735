import { once } from 'node:events'
import { createLimiter, fixedWindow, type Limiter, type Store } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { limitGuesses, refuse, type AdapterOptions, type ResolvedSubject } from '@sluice/core/http'
import { describe, expect, it, vi } from 'vitest'
import { bundle } from '../../support/bundle.ts'
import { app, perMinute } from './support.ts'
import { PATIENTLY } from '../../support/patience.ts'

const where = () => ({ tenant: 'an address' })

/** A handler whose guesses are limited, and a way to ask it with a key; only `good` is one. */
function guarded(
  limit: number,
  options: Partial<AdapterOptions> & { guesses?: Limiter; look?: () => Promise<unknown> } = {},
) {
  const { guesses = perMinute(limit), look = async () => {}, ...rest } = options
  const lookUp = vi.fn<(key: string | null) => ResolvedSubject>((key) =>
    key === 'good' ? { tenant: 'acme' } : null,
  )
  const ask = app(perMinute(10_000), {
    subject: async ({ headers }) => {
      const found = lookUp(headers.get('x-tenant'))
      await look()
      return found
    },
    unauthenticated: limitGuesses(guesses, where),
    ...rest,
  })
  return { lookUp, ask: async (key: string) => (await ask({ 'x-tenant': key })).status }
}

describe('guesses of a key', () => {
  it('do not find the key when more than the limit come at once', async () => {
    const { ask, lookUp } = guarded(30)
    const keys = Array.from({ length: 1_000 }, (_, n) => (n === 500 ? 'good' : `key-${n}`))
    const statuses = await Promise.all(keys.map(ask))
    expect(lookUp).toHaveBeenCalledTimes(30)
    expect(statuses.filter((status) => status === 401)).toHaveLength(30)
    expect(statuses.filter((status) => status === 429)).toHaveLength(970)
  })

  it('do not find the key one after another', async () => {
    const { ask, lookUp } = guarded(30)
    const statuses = []
    for (let n = 0; n < 31; n += 1) statuses.push(await ask(n < 30 ? `key-${n}` : 'good'))
    expect(statuses.at(-1)).toBe(429)
    expect(lookUp).toHaveBeenCalledTimes(30)
  })

  it('do not include valid requests, which are given back, however many come', async () => {
    const { ask } = guarded(2)
    for (let time = 0; time < 20; time += 1) expect(await ask('good')).toBe(200)
    expect([await ask('a'), await ask('b'), await ask('good')]).toEqual([401, 401, 429])
  })

  it('are limited together with valid requests in concurrent look-ups', async () => {
    const events = new EventTarget()
    const { ask, lookUp } = guarded(3, { look: () => once(events, 'open') })
    const answers = Array.from({ length: 5 }, () => ask('good'))
    await vi.waitFor(() => expect(lookUp).toHaveBeenCalledTimes(3), PATIENTLY)
    events.dispatchEvent(new Event('open'))
    expect(await Promise.all(answers)).toEqual([200, 200, 200, 429, 429])
  })

  it.each([
    [401, 429],
    [403, 403],
    [503, 503],
  ])('a refusal with %d makes the next request %d', async (status, next) => {
    const subject = () => refuse({ status, code: 'no', message: 'No.' })
    const { ask } = guarded(1, { subject })
    expect([await ask('a'), await ask('a')]).toEqual([status, next])
  })

  it('stay charged if the look-up throws', async () => {
    const look = vi.fn<() => Promise<unknown>>().mockRejectedValueOnce(new Error('down'))
    const { ask } = guarded(1, { look })
    await expect(ask('good')).rejects.toThrow('down')
    expect(await ask('good')).toBe(429)
  })
})

/** A limiter that allows one request a minute, and gives back a charge when `until` says so. */
function slowToReturn(until: Promise<unknown>): Limiter {
  const store = memory()
  const run: Store['run'] = async (operation) => {
    await until
    return store.run(operation)
  }
  const policies = [fixedWindow({ name: 'rpm', limit: 1, window: '1m', per: ['tenant'] })]
  return createLimiter({ store: { ...store, run }, policies })
}

describe('giving back a charge', () => {
  it('does not hold up the check, and holds up the answer only without waitUntil', async () => {
    const limiter = perMinute(9)
    const check = vi.spyOn(limiter, 'check')
    const checked = vi.waitFor(() => expect(check).toHaveBeenCalledOnce(), PATIENTLY)
    const unauthenticated = limitGuesses(slowToReturn(checked), where)
    const ask = app(limiter, { unauthenticated })
    expect((await ask()).status).toBe(200)
    expect((await ask()).status).toBe(200)
  })

  it('fails silently when the store is down: the charge stays', async () => {
    const fault = Promise.reject(new Error('down'))
    fault.catch(() => {})
    const { ask } = guarded(1, { guesses: slowToReturn(fault) })
    expect([await ask('good'), await ask('good')]).toEqual([200, 429])
  })
})

it('a bundle without limitGuesses and limitByBinding has nothing of them', async () => {
  const { kept } = await bundle("export { rateLimit } from '@sluice/cloudflare'")
  expect(kept).toContain('packages/core/dist/http/guard/guard.js')
  expect(kept).not.toContain('packages/core/dist/http/guess-limit.js')
  expect(kept).not.toContain('packages/cloudflare/dist/prefilter.js')
})
