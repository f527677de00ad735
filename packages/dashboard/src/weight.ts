import type { TenantView } from './view.ts'

/** The figures by which a tenant is heavy. */
export type Weight = Pick<TenantView, 'usedUsd' | 'tokens' | 'allowed' | 'denied' | 'lastAt'>

/** Sorts the heavier one first: by dollars, then by tokens, requests, and the time of the latest. */
export const byWeight = (a: Weight, b: Weight): number =>
  b.usedUsd - a.usedUsd ||
  b.tokens - a.tokens ||
  b.allowed + b.denied - (a.allowed + a.denied) ||
  b.lastAt - a.lastAt
