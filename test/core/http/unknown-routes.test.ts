import { createLimiter, fixedWindow, type Policy } from '@sluice/core'
import { createGuard, rateLimit } from '@sluice/core/http'
import { memory } from '@sluice/core/memory'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'

const warn = vi.spyOn(console, 'warn')
beforeEach(() => void warn.mockReset().mockImplementation(() => {}))
afterEach(() => void warn.mockReset())

const subject = () => ({ tenant: 'acme' })

/** A policy for these routes. */
const policyFor = (name: string, routes?: readonly string[]): Policy =>
  fixedWindow({ name, limit: 1_000, window: '1d', per: ['tenant'], ...(routes && { routes }) })

const limiterOf = (...policies: Policy[]) => createLimiter({ store: memory(), policies })

/** An adapter for these routes, which takes requests by the id of their route. */
function adapter(limiter: ReturnType<typeof limiterOf>, ids: readonly string[]) {
  const routes = ids.map((id) => ({ path: `/${id}`, id }))
  const fetch = rateLimit(limiter, { routes, subject }, () => new Response('answer'))
  return async (id: string) => {
    expect((await fetch(new Request(`https://app.example/${id}`))).status).toBe(200)
  }
}

it('no id is compared with anything while no adapter lists its routes', async () => {
  const guard = createGuard(limiterOf(policyFor('p', ['by-hand'])), { subject })
  const route = { id: 'other', cost: undefined }
  await guard(route, new Request('https://app.example/'))
  expect(warn).not.toHaveBeenCalled()
})

it('an id that no adapter has is told of once, with those that they have', async () => {
  const send = adapter(limiterOf(policyFor('fine'), policyFor('spelt', ['evalaute', 'chat'])), [
    'evaluate',
    'chat',
  ])
  for (const id of ['evaluate', 'chat', 'evaluate', 'evaluate']) await send(id)
  expect(warn.mock.calls).toEqual([
    ['Sluice: policies.spelt.routes: no adapter has "evalaute"; known: evaluate,chat'],
  ])
})

it('an id that no adapter has is told of at a denial, too', async () => {
  const nothing = fixedWindow({ name: 'nothing', limit: 0, window: '1d', per: ['tenant'] })
  const limiter = limiterOf(nothing, policyFor('denied', ['dowload']))
  const routes = [{ path: '/x', id: 'x' }]
  const fetch = rateLimit(limiter, { routes, subject }, () => new Response('answer'))
  expect((await fetch(new Request('https://app.example/x'))).status).toBe(429)
  expect(warn.mock.calls.flat()).toEqual([expect.stringContaining('no adapter has "dowload"')])
})

it('an id that only another adapter of the limiter has is right', async () => {
  const limiter = limiterOf(policyFor('p', ['upload', 'download']))
  const send = adapter(limiter, ['other', 'upload'])
  adapter(limiter, ['download'])
  await send('other')
  expect(warn).not.toHaveBeenCalled()
})

it('a limiter that is made at the first request is looked at, too', async () => {
  const fetch = rateLimit(
    () => limiterOf(policyFor('late', ['uplaod'])),
    { routes: [{ path: '/late', id: 'late' }], subject },
    () => new Response('answer'),
  )
  await fetch(new Request('https://app.example/late'))
  expect(warn.mock.calls.flat()).toEqual([expect.stringContaining('no adapter has "uplaod"')])
})

it('a limiter of another make is left alone', async () => {
  const inner = limiterOf(policyFor('own', ['nowhere']))
  const own: ReturnType<typeof limiterOf> = {
    check: (...call) => inner.check(...call),
    peek: (...call) => inner.peek(...call),
    reset: (...call) => inner.reset(...call),
  }
  const send = adapter(own, ['somewhere'])
  await send('somewhere')
  expect(warn).not.toHaveBeenCalled()
})
