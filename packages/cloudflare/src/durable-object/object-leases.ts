import { HomeUnits } from '@sluice/core/internal/places'
import type { Leases } from './place.ts'

/**
 * Lets a tenant's object decide about leased policies, such as a limit for everyone: it takes blocks of their units from
 * the object `home`, which counts them for all, and serves them from its memory.
 *
 * @example
 * export class Limits extends LimitsObject {
 *   protected override readonly own = { leases: objectLeases }
 * }
 */
export const objectLeases: Leases = { create: (home, own) => new HomeUnits(home, own) }
