import { createLimiter, fixedWindow } from '@sluice/core'
import { rateLimit } from '@sluice/core/http'
import { memory } from '@sluice/core/memory'
import express from 'express'
import { rateLimit as expressRateLimit } from 'express-rate-limit'
import type { AddressInfo } from 'node:net'
import { expect, it } from 'vitest'

/** The headers of draft 6, with seconds that may be one less after a moment. */
function draft6(headers: Headers) {
  const [limit, remaining, reset] = ['limit', 'remaining', 'reset'].map((name) =>
    Number(headers.get(`ratelimit-${name}`) ?? Number.NaN),
  )
  return { limit, remaining, isWithinWindow: Number(reset) > 0 && Number(reset) <= 60 }
}

it('the style draft-6 is what express-rate-limit sends with standardHeaders: true', async () => {
  const app = express()
  app.use(
    expressRateLimit({ windowMs: 60_000, limit: 2, standardHeaders: true, legacyHeaders: false }),
  )
  app.get('/', (_, response) => void response.send('ok'))
  const server = app.listen(0)
  const { port } = server.address() as AddressInfo
  const policy = fixedWindow({ name: 'rpm', limit: 2, window: '1m', per: ['user'] })
  const handle = rateLimit(
    createLimiter({ store: memory(), policies: [policy] }),
    { routes: ['/'], subject: () => ({ user: 'u' }), headers: ['draft-6'] },
    () => new Response('ok'),
  )
  try {
    for (let call = 0; call < 4; call += 1) {
      const theirs = await fetch(`http://127.0.0.1:${port}/`)
      const ours = await handle(new Request('http://app.example/'))
      expect(ours.status).toBe(theirs.status)
      expect(draft6(ours.headers)).toEqual(draft6(theirs.headers))
      expect(draft6(ours.headers).isWithinWindow).toBe(true)
    }
  } finally {
    server.close()
  }
})
