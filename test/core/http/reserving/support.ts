import { fixedWindow } from '@sluice/core'
import { reservationOf } from '@sluice/core/http'
import { setUpAtMidnight } from '../support.ts'

export const common = { window: '1h', per: ['tenant'] } as const

/** A limiter of 10 requests and 1,000 tokens, and what a tenant has left of each. */
export function counting() {
  const { limiter } = setUpAtMidnight(
    fixedWindow({ name: 'rpm', limit: 10, ...common }),
    fixedWindow({ name: 'tpm', limit: 1_000, unit: 'token', ...common }),
  )
  const left = async (tenant = 'acme') => {
    const { policies } = await limiter.peek({ tenant }, { cost: { token: 0 } })
    return policies.map(({ remaining }) => remaining)
  }
  return { limiter, left }
}

/** Returns true if nothing is reserved for this request. */
export function hasNone(request: Request): boolean {
  try {
    return reservationOf(request) === undefined
  } catch (error) {
    return (error as Error).message.startsWith('Sluice: reservationOf.request: must be')
  }
}
