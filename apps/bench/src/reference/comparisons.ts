import { tokenBucket, type Policy } from '@sluice/core'
import type { peerLimiter } from '../sides/peer.ts'
import { AMPLE, dailyAndWindow, hourly } from '../limits.ts'
import { peerBucket, peerDaily, peerWindow } from '../sides/peer.ts'
import { DAILY_AND_WINDOW } from './daily-and-window.ts'
import { SLIDING_WINDOW } from './sliding-window.ts'
import { TOKEN_BUCKET } from './token-bucket.ts'

const HOUR_MS = 3_600_000

/** The same limits in three forms: our policies, the peer's, and a hand-written script. */
export interface Comparison {
  readonly title: string
  readonly policies: (limit: number) => Policy[]
  readonly peers: (limit: number) => readonly Parameters<typeof peerLimiter>[1][]
  readonly script: string
  /** Returns the keys and arguments of a call of the script. `id` names a new member of a set. */
  readonly call: (
    limit: number,
    tenant: string,
    id: string,
  ) => { readonly keys: readonly string[]; readonly args: readonly (string | number)[] }
}

export const COMPARISONS: readonly Comparison[] = [
  {
    title: 'one window',
    policies: (limit) => [hourly(limit)],
    peers: (limit) => [peerWindow(limit)],
    script: SLIDING_WINDOW,
    call: (limit, tenant, id) => ({
      keys: [`hand:w:window:${tenant}`],
      args: [id, limit, 1, HOUR_MS],
    }),
  },
  {
    title: 'daily cap and window',
    policies: dailyAndWindow,
    peers: (limit) => [peerDaily(), peerWindow(limit)],
    script: DAILY_AND_WINDOW,
    call: (limit, tenant, id) => ({
      keys: [`hand:d:daily:${tenant}`, `hand:w:window:${tenant}`],
      args: [id, AMPLE, limit, 1, HOUR_MS],
    }),
  },
  {
    title: 'one token bucket',
    policies: (limit) => [tokenBucket({ name: 'bucket', limit, window: '1h', per: ['tenant'] })],
    peers: (limit) => [peerBucket(limit)],
    script: TOKEN_BUCKET,
    call: (limit, tenant) => ({
      keys: [`hand:b:bucket:${tenant}`],
      args: [limit, limit, 1, HOUR_MS],
    }),
  },
]
