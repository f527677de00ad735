import type { ReactNode } from 'react'
import type { TenantView, View } from '../view.ts'
import { byWeight } from '../weight.ts'
import { ScrollTable } from './scroll-table.tsx'
import { countOf, dollarsOf } from './words.ts'

export interface TenantsProps {
  readonly view: View | undefined
  readonly tenant: string | undefined
  readonly onTenant: (tenant: string | undefined) => void
  readonly now: number
}

const SHOWN = 10

const MINOR = ['Plan', 'Tokens today']
const HEADS = ['Tenant', 'Plan', 'Allowed', 'Denied', 'Tokens today', 'Spent', 'Not spent ≈']

/** The heaviest tenants. Choosing one shows its figures. */
export function Tenants({ view, tenant: chosen, onTenant, now }: TenantsProps): ReactNode {
  const tenants = heaviest(view?.tenants)
  return (
    <section className="sluice-card" aria-labelledby="sluice-tenants">
      <h3 id="sluice-tenants">Top tenants</h3>
      <Extent view={view} />
      {tenants.length === 0 ? (
        <p className="sluice-hint">Nobody has sent a request yet.</p>
      ) : (
        <ScrollTable name="Tenants" heads={HEADS} minor={MINOR}>
          {tenants.slice(0, SHOWN).map((tenant) => (
            <tr key={tenant.tenant} className={tenant.tenant === chosen ? 'sluice-chosen' : ''}>
              <th scope="row">
                <button
                  type="button"
                  aria-pressed={tenant.tenant === chosen}
                  title={tenant.place && `Decided in ${tenant.place}`}
                  onClick={() => onTenant(tenant.tenant === chosen ? undefined : tenant.tenant)}
                >
                  {tenant.tenant}
                </button>
              </th>
              <td className="sluice-text sluice-minor">{tenant.plan ?? '–'}</td>
              <td>{countOf(tenant.allowed)}</td>
              <td className={tenant.denied > 0 ? 'sluice-denied' : ''}>{countOf(tenant.denied)}</td>
              <td className="sluice-minor">
                {countOf(tokensToday(tenant.tokens, tenant.lastAt, now))}
              </td>
              <td>{dollarsOf(tenant.usedUsd - tenant.heldUsd)}</td>
              <td>{dollarsOf(tenant.avoidedUsd)}</td>
            </tr>
          ))}
        </ScrollTable>
      )}
    </section>
  )
}

const DAY_MS = 86_400_000

/** Returns tokens that were counted up to `at`, since midnight UTC of `now`: none if that is a later day. */
export const tokensToday = (tokens: number, at: number, now: number): number =>
  Math.floor(at / DAY_MS) === Math.floor(now / DAY_MS) ? tokens : 0

/** Sorts tenants by their dollars, then by their tokens and requests, the most first. */
export const heaviest = (tenants: readonly TenantView[] = []): TenantView[] =>
  tenants.toSorted(byWeight)

/** Says of how many tenants the page tells. Nothing if the table has all. */
function Extent({ view }: { readonly view: View | undefined }): ReactNode {
  const text = view && extentOf(view)
  return text === undefined ? null : <p className="sluice-hint">{text}</p>
}

/** Returns the sentence that says of how many tenants the page tells; `undefined` if the table has all. */
export function extentOf({
  tenants,
  knownTenants,
  isPartial,
}: Pick<View, 'tenants' | 'knownTenants' | 'isPartial'>): string | undefined {
  if (knownTenants <= SHOWN) return undefined
  const choice = `The ${SHOWN} heaviest of ${countOf(knownTenants)} tenants; ${countOf(tenants.length)} can be chosen above.`
  return isPartial ? `${choice} There are more: the sums are the least that is used.` : choice
}
