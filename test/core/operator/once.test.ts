import { createLimiter, manualClock, slidingWindow, StoreError } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { once } from '@sluice/core/operator'
import { beforeEach, describe, expect, it } from 'vitest'
import { Watched } from '../../support/watched-store.ts'

const DAY_MS = 86_400_000
const REQUEST = { id: 'ann req-1', text: 'POST /keys' }

const clock = manualClock(1_800_000_000_000)
let store: Watched
let limiter: ReturnType<typeof createLimiter>
let runs: number
beforeEach(() => {
  store = new Watched(memory())
  const rpm = slidingWindow({ name: 'rpm', limit: 5, window: '1m', per: ['tenant'] })
  limiter = createLimiter({ store, clock, policies: [rpm] })
  runs = 0
})

const run = async (): Promise<string> => `run ${(runs += 1)}`
const ask = (request = REQUEST, act = run) => once(limiter, request, act)
const fails = (error: Error) => async (): Promise<never> => {
  throw error
}

describe('a change for a name', () => {
  it('is made once, and a repetition gets its answer for a day', async () => {
    expect(await ask()).toEqual({ kind: 'first', answer: 'run 1' })
    clock.advance(DAY_MS - 1)
    expect(await ask()).toEqual({ kind: 'repeated', answer: 'run 1' })
    clock.advance(2)
    expect(await ask()).toEqual({ kind: 'first', answer: 'run 2' })
  })

  it('has no answer for a repetition while the first runs', async () => {
    let end: ((answer: string) => void) | undefined
    let first: ReturnType<typeof ask> | undefined
    await new Promise<void>((began) => {
      first = ask(REQUEST, () => {
        began()
        return new Promise((resolve) => (end = resolve))
      })
    })
    expect(await ask()).toEqual({ kind: 'unfinished' })
    end?.('done')
    expect(await first).toEqual({ kind: 'first', answer: 'done' })
    expect(await ask()).toEqual({ kind: 'repeated', answer: 'done' })
    expect(runs).toBe(0)
  })

  it('is not made for the name of another request', async () => {
    await ask()
    expect(await ask({ ...REQUEST, text: 'POST /keys 2' })).toEqual({ kind: 'other request' })
    expect(await ask({ ...REQUEST, id: 'bob req-1' })).toMatchObject({ kind: 'first' })
    expect(runs).toBe(2)
  })

  it('may be tried again after a refusal, but not after a failure of the store', async () => {
    await expect(ask(REQUEST, fails(new TypeError('no')))).rejects.toThrow('no')
    expect(await ask()).toMatchObject({ kind: 'first' })
    const other = { ...REQUEST, id: 'ann req-2' }
    const lost = new StoreError('store_timeout', 'The reply is lost')
    await expect(ask(other, fails(lost))).rejects.toThrow(lost)
    expect(await ask(other)).toEqual({ kind: 'unfinished' })
    expect(runs).toBe(1)
  })
})
