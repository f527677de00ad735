import { definitionOf, type Limiter, type PolicyState } from '@sluice/core'
import { decideFree } from '../free-request.ts'
import type { CallHandler, CallParts } from '../providers/handlers.ts'
import { DAY_MS } from './query.ts'

/**
 * Creates a handler that tells a key its limits: used, left, and when that returns. Today's spend is what its day's
 * budget has counted, with the estimates of calls that run; `null` without such a budget. It takes one decision.
 */
export function ownUsage(limiter: Limiter, findSubject: CallParts['findSubject']): CallHandler {
  const partitions = new Map(definitionOf(limiter).rules.map(({ name, per }) => [name, per]))
  const perOf = ({ name }: PolicyState): readonly string[] => {
    const per = partitions.get(name) ?? 'global'
    return per === 'global' ? [] : per
  }
  const isDayOf = (state: PolicyState, dimension: string): boolean =>
    state.unit === 'usd' && state.windowMs === DAY_MS && perOf(state).at(-1) === dimension

  return async (request, notes, ctx) => {
    const allowed = await decideFree(limiter, findSubject, request, notes, ctx)
    if (allowed instanceof Response) return allowed
    const { subject, decision, headers } = allowed
    const { at, plan, policies } = decision
    const spentOn = (dimension: string): number | null => {
      const state = policies.find((one) => isDayOf(one, dimension))
      return state ? amountOf(state, usedOf(state)) : null
    }
    const body = {
      ...subject,
      plan,
      spent_today_usd: { key: spentOn('key'), tenant: spentOn('tenant') },
      limits: policies.map((state) => ({
        policy: state.name,
        unit: state.unit,
        per: perOf(state),
        limit: amountOf(state, state.burst),
        used: amountOf(state, usedOf(state)),
        remaining: amountOf(state, state.remaining),
        resets_at: new Date(at + state.resetMs).toISOString(),
        // As RFC 9557 has it, with a calendar.
        resets_at_local: state.resetsAt,
      })),
    }
    return Response.json(body, { headers: { ...headers, 'cache-control': 'no-store' } })
  }
}

const usedOf = ({ burst, remaining }: PolicyState): number => Math.max(0, burst - remaining)

/** Clients read dollars, not micro-dollars. */
const amountOf = ({ unit }: PolicyState, units: number): number =>
  unit === 'usd' ? units / 1_000_000 : units
