import { reservationOf } from '@sluice/core/http'
import { describe, expect, it } from 'vitest'
import { storesOf, STORES_TO_TEST } from '../../../support/stores.ts'
import { app } from '../support.ts'
import { cost, endless, failing, oneAtATime } from './support.ts'

describe.each(STORES_TO_TEST)('a call in flight, with %s', (name) => {
  const make = storesOf(name)

  it('ends with its response, and leaves the estimate to be settled afterwards', async () => {
    const { answer, end } = endless()
    const settle: (() => Promise<unknown>)[] = []
    const { ask, left } = oneAtATime(
      (request) => {
        const call = reservationOf(request)
        settle.push(() => call.settle({ token: 1 }))
        return answer
      },
      { store: make() },
    )
    const first = await ask()
    expect((await ask()).status).toBe(429)
    expect(await left()).toEqual([0, 900])
    end()
    expect(await first.text()).toBe('a')
    expect(await left()).toEqual([1, 900])
    // Such as work that runs after the response.
    expect(await settle[0]?.()).toMatchObject({ applied: true, returned: { token: 99 } })
    expect(await left()).toEqual([1, 999])
  })

  it('ends when the handler throws', async () => {
    const { ask, left } = oneAtATime(failing, { store: make() })
    await expect(ask()).rejects.toThrow('no answer')
    expect(await left()).toEqual([1, 900])
  })

  it.each<[string, () => Response]>([
    ['nothing', () => undefined as never],
    [
      'a body that somebody reads',
      () => {
        const answer = new Response('answer')
        answer.body?.getReader()
        return answer
      },
    ],
  ])('ends when the handler returns %s, which is an error', async (_, handle) => {
    const { ask, left } = oneAtATime(handle, { store: make() })
    await expect(ask()).rejects.toThrow(TypeError)
    expect(await left()).toEqual([1, 900])
  })

  it('does not end another call, however often it ends', async () => {
    const { ask, left, limiter } = oneAtATime(() => new Response(), { store: make() })
    const other = app(limiter, { cost }, () => endless().answer)
    expect((await ask()).status).toBe(200)
    expect((await other()).status).toBe(200)
    expect(await left()).toEqual([0, 800])
  })
})
