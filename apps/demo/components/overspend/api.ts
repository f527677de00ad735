import type { Comparison } from '../../lib/overspend/compare'
import { tokenOf } from '../one-request/api'
import { duration } from '../one-request/duration'

/** Any of the demo's tenants may start a comparison. */
const TENANT = 'starter-1'

/** Runs a comparison. Rejects with the reason if the demo refuses. */
export async function fetchComparison(): Promise<Comparison> {
  const headers = { authorization: `Bearer ${await tokenOf(TENANT)}` }
  const response = await fetch('/api/demo/overspend', { method: 'POST', headers })
  if (response.ok) return (await response.json()) as Comparison
  if (response.status !== 429) throw new Error('The comparison failed.')
  const wait = duration(1000 * Number(response.headers.get('retry-after')))
  throw new Error(`There were too many comparisons. Try again in ${wait}.`)
}
