import { once } from 'node:events'
import { leakyBucket } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { describe, expect, it, vi } from 'vitest'
import { ACME, setUp } from '../../../support/limiters.ts'
import { app } from '../support.ts'
import { cost, inFlight, oneAtATime, tokens } from './support.ts'
import { PATIENTLY } from '../../../support/patience.ts'

describe('with a waitUntil, a call in flight', () => {
  it('is known to the platform from the beginning, and does not hold the response up', async () => {
    const store = memory()
    const run = store.run.bind(store)
    const gate = new EventTarget()
    vi.spyOn(store, 'run').mockImplementation(async (operation) => {
      await once(gate, 'open')
      return run(operation)
    })
    const kept: Promise<unknown>[] = []
    const waitUntil = (promise: Promise<unknown>) => void kept.push(promise)
    const handle = () => {
      expect(kept).toHaveLength(1)
      return new Response('answer')
    }
    const { ask, left } = oneAtATime(handle, { store, waitUntil })
    expect(await (await ask()).text()).toBe('answer')
    expect((await left())[0]).toBe(0)
    gate.dispatchEvent(new Event('open'))
    await Promise.all(kept)
    expect((await left())[0]).toBe(1)
  })

  it('ends also if it throws, as an unbound one does, and that is logged', async () => {
    const log = vi.spyOn(console, 'error').mockImplementation(() => undefined)
    const error = new TypeError('Illegal invocation')
    const waitUntil = () => {
      throw error
    }
    const { ask, left } = oneAtATime(() => new Response('answer'), { waitUntil })
    await (await ask()).text()
    await vi.waitFor(async () => expect((await left())[0]).toBe(1), PATIENTLY)
    expect(log).toHaveBeenCalledExactlyOnceWith(expect.stringContaining('waitUntil'), error)
    log.mockRestore()
  })
})

it('a call whose client left during a delay ends, and its estimate stays', async () => {
  const shape = leakyBucket({ name: 'shape', limit: 1, window: '1m', burst: 9, per: 'global' })
  const { limiter } = setUp([inFlight, tokens, shape])
  const handle = vi.fn<() => Response>(() => new Response('answer'))
  const ask = app(limiter, { cost }, handle)
  await (await ask()).text()
  const controller = new AbortController()
  const gone = ask({}, { signal: controller.signal })
  // It waits for its turn, a minute later.
  await vi.waitFor(async () => expect((await ask()).status).toBe(429), PATIENTLY)
  controller.abort()
  expect((await gone).status).toBe(499)
  expect(handle).toHaveBeenCalledOnce()
  const { policies } = await limiter.peek(ACME, { cost: { token: 0, call: 0 } })
  expect(policies.map(({ name, remaining }) => [name, remaining])).toEqual([
    ['in-flight', 1],
    ['tpm', 800],
    ['shape', 7],
  ])
})
