import { slidingWindow } from '@sluice/core'

export const RPM = slidingWindow({ name: 'rpm', limit: 60, window: '1m', per: ['tenant'] })

/** Returns a request that is sent with a key. */
export const sent = (key: string): Request =>
  new Request('https://app.example/api', { headers: { authorization: `Bearer ${key}` } })
