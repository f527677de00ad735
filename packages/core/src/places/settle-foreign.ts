import type { Settling } from '../leases/held-calls.ts'
import type { SettleResult } from '../reservations/settle-request.ts'
import type { Store } from '../stores/store.ts'
import type { OwnPlace } from './own-place.ts'
import { systemClock } from '../clock.ts'
import { termsOf } from '../leases/lease.ts'
import { Overrun } from '../leases/overrun.ts'
import { settleOperation } from '../reservations/settle-operation.ts'
import { settleWithRetry } from '../reservations/settle-with-retry.ts'

/**
 * Settles a reservation whose leases are gone, as after a restart: what was leased stays charged, and what was used beyond
 * it is charged in home.
 */
export async function settleForeign(
  home: Store,
  own: OwnPlace,
  { kind, data, near = [], startedAt, onFault = () => {} }: Settling,
): Promise<SettleResult | undefined> {
  const isAtHome = data.corrections.map((correction) => own.isAtHome(correction))
  const corrections = data.corrections.filter((_, at) => !isAtHome[at])
  const facts = { ...data, corrections, startedAt, onFault }
  const result = (await own.run({ ...settleOperation(kind as never, facts), near })) as
    SettleResult | undefined
  if (!result || 'before' in result) return result
  const inPlace = result.applied.values()
  const applied: number[] = []
  for (const [at, correction] of data.corrections.entries()) {
    if (!isAtHome[at]) {
      applied.push(inPlace.next().value ?? 0)
      continue
    }
    const more = Math.max(0, correction.actual - correction.reserved)
    const policy = termsOf(correction.policy)?.counted ?? correction.policy
    // A cost of 0 fits any limit.
    const entry = { ...correction, policy, index: 0, limit: 1, cost: 0, enforced: true }
    const overrun = new Overrun(home, entry, { policies: [policy] }, more)
    // The place is settled, so a repeated settlement would not charge it.
    await settleWithRetry(async () => {
      await overrun.charge(data, systemClock())
      return {}
    })
    applied.push(more)
  }
  return { ...result, applied }
}
