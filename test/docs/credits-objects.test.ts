import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, it } from 'vitest'
import { bundleWorker, runWorker } from '../e2e/support/workerd.ts'
import { readBlock } from '../support/docs-block.ts'

// Inside the workspace, so that the packages are found as a user's would be.
const folder = mkdtempSync(fileURLToPath(new URL('credits-objects-', import.meta.url)))
afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
})

const APP = `
import { env } from 'cloudflare:workers'
import { durableObjects } from '@sluice/cloudflare/durable-object'
import { createLimiter } from '@sluice/core'
import { calendar } from '@sluice/core/calendars'
import { balance, credits, grant, settleHold } from '@sluice/core/credits'
import { reserve } from '@sluice/core/reservations'

const limiter = createLimiter({
  store: durableObjects(env.LIMITS),
  onStoreError: 'deny',
  policies: [
    credits({
      name: 'credits',
      per: ['tenant'],
      unit: 'credit',
      unsettled: 'keep',
      included: { amount: 20, resets: calendar({ every: 'month', zone: 'Europe/Berlin' }) },
    }),
  ],
})
const acme = { tenant: 'acme' }

export default {
  async fetch() {
    const pay = () => grant(limiter, acme, { amount: 100, id: 'p', at: new Date(), kind: 'paid' })
    const granted = [(await pay()).applied, (await pay()).applied]
    const call = await reserve(limiter, acme, { cost: { credit: 5 } })
    const calls = await Promise.all(
      Array.from({ length: 64 }, () => limiter.check(acme, { cost: { credit: 5 } })),
    )
    const { reservations } = await balance(limiter, acme)
    const held = await settleHold(limiter, acme, reservations[0]?.id ?? 'none', 8)
    const { available, debt } = await balance(limiter, acme)
    const allowed = calls.filter((one) => one.allowed).length
    return Response.json({ granted, allowed, call: call.allowed, held: held.applied, available, debt })
  },
}
`

it('a class with the algorithms and operations of the page counts balances in objects, which a restart keeps', async () => {
  writeFileSync(
    join(folder, 'worker.ts'),
    `${readBlock('without-redis.md', 'limits-object.ts')}${APP}`,
  )
  writeFileSync(
    join(folder, 'wrangler.jsonc'),
    JSON.stringify(
      {
        name: 'credits',
        main: 'worker.ts',
        compatibility_date: '2026-05-01',
        durable_objects: { bindings: [{ name: 'LIMITS', class_name: 'Limits' }] },
        exports: { Limits: { type: 'durable-object', storage: 'sqlite' } },
      },
      null,
      1,
    ),
  )
  const bundle = await bundleWorker(folder)
  const storage = join(folder, 'storage')
  const answerOf = async (): Promise<unknown> => {
    const app = await runWorker(bundle, {}, storage)
    try {
      return await (await fetch(app.url)).json()
    } finally {
      await app.stop()
    }
  }
  expect(await answerOf()).toEqual({
    granted: [true, false],
    allowed: 23,
    call: true,
    held: true,
    available: 0,
    debt: 3,
  })
  expect(await answerOf()).toEqual({
    granted: [false, false],
    allowed: 0,
    call: false,
    held: false,
    available: 0,
    debt: 3,
  })
})
