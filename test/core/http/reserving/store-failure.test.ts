import { createLimiter, fixedWindow } from '@sluice/core'
import { reservationOf, reserving } from '@sluice/core/http'
import { reserve } from '@sluice/core/reservations'
import { describe, expect, it } from 'vitest'
import { app } from '../support.ts'
import { common } from './support.ts'

const down = () => Promise.reject(new Error('down'))

/** A limiter whose store fails. */
const limiterDown = (onStoreError: 'allow' | 'deny' | 'local') =>
  createLimiter({
    store: { check: down, run: down, reset: down },
    policies: [fixedWindow({ name: 'tpm', limit: 100, unit: 'token', ...common })],
    onStoreError,
  })

describe('reserving while the store fails', () => {
  it('counts and settles in the memory of the process', async () => {
    const limiter = limiterDown('local')
    const ask = app(limiter, { cost: reserving({ token: 60 }) }, async (request) => {
      expect(await reservationOf(request).settle({ token: 50 })).toMatchObject({ applied: true })
      return new Response()
    })
    expect([(await ask()).status, (await ask()).status]).toEqual([200, 429])
    // 50 of 100 are left.
    expect((await reserve(limiter, { tenant: 'acme' }, { cost: { token: 50 } })).allowed).toBe(true)
  })

  it('runs the handler uncounted, or answers 503, as the limiter says', async () => {
    const ask = app(limiterDown('allow'), { cost: reserving({ token: 60 }) }, async (request) => {
      const settled = await reservationOf(request).settle({ token: 1 })
      expect(settled).toMatchObject({ applied: false, why: 'nothing_charged' })
      return new Response()
    })
    expect((await ask()).status).toBe(200)
    expect((await app(limiterDown('deny'), { cost: reserving({ token: 60 }) })()).status).toBe(503)
  })
})
