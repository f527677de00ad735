import type { Cost, Limiter, Subject } from '@sluice/core'
import type { NextRequest } from 'next/server.js'
import {
  createGuard,
  type ChargingCost,
  type Guard,
  type GuardOptions,
  type RouteCost,
} from '@sluice/core/http'

/** Returns `cost` if it is reserved, else `undefined`. */
export function reservedCost<Context extends unknown[]>(
  cost: RouteCost<Context, never> | undefined,
): ChargingCost<Context> | undefined {
  const reserved = cost as ChargingCost<Context> | undefined
  return reserved?.isReserved ? reserved : undefined
}

/**
 * Creates the guard for requests that middleware has charged, if the cost is reserved. It reserves the
 * cost without its requests. The subject is known, so nothing is charged as a guess.
 */
export function guardOfTheRest(
  limiterFor: (routeContext: unknown) => Limiter,
  options: GuardOptions<[routeContext: unknown], NextRequest>,
): Guard<[routeContext: unknown, charged: Subject], NextRequest> | undefined {
  const cost = reservedCost(options.cost)
  if (cost === undefined) return undefined
  const rest = async (request: Request, context: unknown): Promise<Cost> => {
    const units = await cost(request, context)
    // The guard refuses an invalid cost.
    const isByUnit = typeof units === 'object' && units !== null && !Array.isArray(units)
    return isByUnit ? { ...units, request: 0 } : typeof units === 'number' ? 0 : units
  }
  const guardOptions: GuardOptions<[unknown, Subject], NextRequest> = {
    ...options,
    unauthenticated: undefined,
    subject: (_request, _context, charged) => charged,
    cost: Object.assign(rest, cost),
  }
  return createGuard<[unknown, Subject], NextRequest>(limiterFor, guardOptions, { isCharged: true })
}
