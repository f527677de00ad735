import { reserving } from '@sluice/core/http'
import { withRateLimit } from '@sluice/next'
import { after } from 'next/server'
import { tenantFromJwt } from '../../../../lib/auth/jwt'
import { runLimiter } from '../../../../lib/limits/overspend'
import { compare } from '../../../../lib/overspend/compare'

const options = {
  limiter: runLimiter,
  route: 'overspend',
  subject: tenantFromJwt,
  cost: reserving(1),
  waitUntil: after,
}

/** Compares three ways to hold 200 streams to one dollar. The calls cost nothing: a stand-in answers. */
export const POST = withRateLimit(async () => {
  try {
    return Response.json(await compare(), { headers: { 'cache-control': 'no-store' } })
  } catch (error) {
    console.error(error)
    const message = 'The store does not answer: try again later.'
    return Response.json({ error: 'store_unavailable', message }, { status: 503 })
  }
}, options)
