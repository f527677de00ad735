/* Balances with a past. */
import { createLimiter, manualClock, type Limiter, type Store } from '@sluice/core'
import { calendar } from '@sluice/core/calendars'
import { adjust, credits, grant, journal, revoke, type JournalEntry } from '@sluice/core/credits'
import { reserve } from '@sluice/core/reservations'
import { HOUR, NOON } from '../../support/times.ts'

export const ACME = { tenant: 'acme' }

/** The most entries that a store keeps. */
const KEPT = 2_000

/** Creates a limiter of credits in a store. */
export function creditsIn(store: Store, clock = manualClock(NOON)) {
  const limiter = createLimiter({
    store,
    clock,
    onStoreError: 'deny',
    policies: [
      credits({
        name: 'credits',
        per: ['tenant'],
        unit: 'credit',
        unsettled: 'keep',
        included: { amount: 40, resets: calendar({ every: 'day' }) },
      }),
    ],
  })
  return { limiter, clock }
}

/** Lives one hour of a balance: grants, corrections, revocations, expiries, spending, now and then a debt. */
async function liveAnHour(limiter: Limiter, hour: number, now: number): Promise<void> {
  const id = `h${hour}`
  if (hour % 3 === 0) {
    const expiresAt = hour % 2 === 0 ? now + 5 * HOUR : undefined
    await grant(limiter, ACME, { amount: 9 + (hour % 5), id, at: now, kind: 'paid', expiresAt })
  }
  if (hour % 7 === 0) {
    await adjust(limiter, ACME, { amount: -3, id: `a${hour}`, at: now, reason: 'Counted twice' })
  }
  if (hour % 9 === 0) await revoke(limiter, ACME, id, { debt: hour % 2 === 0, reason: 'Returned' })
  const call = await reserve(limiter, ACME, { cost: { credit: 2 + (hour % 4) } })
  if (call.allowed) await call.settle({ credit: hour % 11 === 0 ? 90 : 1 + (hour % 3) })
}

/** Lives until a journal has so many entries. Returns all of them, read as the store adds them. */
export async function journalOf(
  { limiter, clock }: ReturnType<typeof creditsIn>,
  count: number,
): Promise<JournalEntry[]> {
  const entries: JournalEntry[] = []
  for (let hour = 1; ; hour += 1) {
    await liveAnHour(limiter, hour, clock())
    clock.advance(HOUR)
    if (hour % 300 !== 0 && hour < count) continue
    entries.push(
      ...(await journal(limiter, ACME, { after: entries.at(-1)?.seq ?? 0, limit: KEPT })),
    )
    if (entries.length >= count) return entries
  }
}
