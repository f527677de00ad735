/* A limiter over some store, as a player of histories. */
import {
  createLimiter,
  InputError,
  manualClock,
  type Decision,
  type ManualClock,
  type Store,
} from '@sluice/core'
import { calendar } from '@sluice/core/calendars'
import {
  adjust,
  auditCredits,
  balance,
  credits,
  exportCredits,
  exportedJournal,
  grant,
  journal,
  revoke,
  settleHold,
  type Balance,
  type CreditsChange,
  type JournalEntry,
} from '@sluice/core/credits'
import { reservation, reserve } from '@sluice/core/reservations'
import { isDeepStrictEqual } from 'node:util'
import { HOUR, NOON } from '../../support/times.ts'
import type { Deploy, Player, Seen, Step } from './history.ts'

const TENANT = { tenant: 'acme' }
const UNIT = 'credit'

const ZONES = { 0: 'UTC', 9: 'Asia/Tokyo' } as const

export class LimiterPlayer implements Player {
  readonly clock: ManualClock = manualClock(NOON)
  readonly #limiters
  readonly #open = new Map<string, string>()

  constructor(store: Store, deploys: readonly Deploy[]) {
    this.#limiters = deploys.map(({ name, terms: { releases, included } }) =>
      createLimiter({
        store,
        clock: this.clock,
        onStoreError: 'deny',
        policies: [
          credits({
            name,
            per: ['tenant'],
            unit: UNIT,
            unsettled: releases ? 'release' : 'keep',
            ...(included && {
              included: {
                amount: included.amount,
                rollover: included.rollover,
                resets:
                  included.every === 'month'
                    ? calendar({ every: 'month' })
                    : calendar({ every: 'day', zone: ZONES[included.every.hoursAhead as 0 | 9] }),
              },
            }),
          }),
        ],
      }),
    )
  }

  async play(step: Step): Promise<unknown> {
    if (step.do === 'wait') {
      this.clock.advance(step.ms)
      return undefined
    }
    const limiter = this.#limiters[step.deploy]!
    switch (step.do) {
      case 'check':
        return answerOf(await limiter.check(TENANT, { cost: { [UNIT]: step.units } }))
      case 'peek':
        return answerOf(await limiter.peek(TENANT, { cost: { [UNIT]: step.units } }))
      case 'reserve': {
        const { id, within } = step
        const call = await reserve(limiter, TENANT, {
          cost: { [UNIT]: step.units },
          settleWithin: within,
          id,
        })
        if (call.allowed) this.#open.set(id, JSON.stringify(call))
        return answerOf(call)
      }
      case 'settle': {
        const call = reservation(limiter, this.#open.get(step.id))
        const { applied, why } = await (step.used === 'cancel'
          ? call.cancel()
          : call.settle({ [UNIT]: step.used }))
        return applied || why
      }
      case 'settle hold': {
        return changeOf(settleHold(limiter, TENANT, step.id, step.used))
      }
      case 'grant': {
        const { units: amount, id, at, priority, kind, from, until } = step
        const times = {
          ...(from > 0 && { effectiveAt: from }),
          ...(until < Infinity && { expiresAt: until }),
        }
        return changeOf(
          grant(limiter, TENANT, { amount, id, at, priority, kind, reason: 'test', ...times }),
        )
      }
      case 'adjust': {
        const { id, at, units: amount } = step
        return changeOf(adjust(limiter, TENANT, { amount, id, at, reason: 'test' }))
      }
      case 'revoke':
        return changeOf(revoke(limiter, TENANT, step.id, { debt: step.owes }))
      case 'reset':
        await limiter.reset(TENANT)
    }
    return undefined
  }

  /** The faults of the journal, which must be the balance and say each change once. */
  async journalFaults(): Promise<unknown[]> {
    const limiter = this.#limiters[0]!
    // Where nothing was ever written, there is no account.
    if ((await journal(limiter, TENANT)).length === 0) return []
    const account = await exportCredits(limiter, TENANT)
    const entries = exportedJournal(account)
    const { totals } = await balance(limiter, TENANT)
    const sumOf = (...kinds: string[]): number =>
      entries.filter(({ kind }) => kinds.includes(kind)).reduce((sum, { units }) => sum + units, 0)
    const isDoubled = (entry: JournalEntry, index: number): boolean => {
      const before = entries[index - 1]
      const isSpent = entry.kind === 'spent' && before?.kind === 'spent'
      return isSpent && before.at === entry.at && isDeepStrictEqual(before.lot, entry.lot)
    }
    return [
      ...auditCredits(entries, { account }),
      ...entries.filter(isDoubled),
      ...entries.filter(({ kind, at }) => kind === 'spent' && at % HOUR !== 0),
      ...(sumOf('adjusted') === totals.adjusted ? [] : ['adjusted']),
      ...(sumOf('revoked') === -totals.revoked ? [] : ['revoked']),
    ]
  }

  async look(deploy: number) {
    return seenOf(await balance(this.#limiters[deploy]!, TENANT))
  }
}

async function changeOf(change: Promise<CreditsChange>): Promise<unknown> {
  try {
    const { applied, units, available, held, debt } = await change
    return { applied, units, available, held, debt }
  } catch (error) {
    if (error instanceof InputError) return error.code
    throw error
  }
}

function answerOf({ allowed, policies, retryAfterMs, reason, degraded }: Decision): unknown {
  const { remaining } = policies[0]!
  return { allowed, remaining, retryAfterMs, reason, degraded }
}

/** A balance in the words of the oracle. */
function seenOf(told: Balance): Seen {
  const { balance: left, available, held, abandoned, debt, totals, lots, reservations } = told
  return {
    balance: left,
    available,
    held,
    abandoned,
    debt,
    totals: { ...totals },
    lots: lots.map(({ kind, left: rest, priority, effectiveAt = 0, expiresAt = Infinity }) =>
      kind === 'included'
        ? [kind, rest, expiresAt]
        : [kind, rest, priority as number, effectiveAt, expiresAt],
    ),
    holds: reservations.map(({ id, units, dueAt }) => [id, units, dueAt]),
    renewsAt: told.renewsAt,
  }
}
