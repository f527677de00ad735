import type { ReactNode } from 'react'
import type { ShadowView, View } from '../view.ts'
import { ScrollTable } from './scroll-table.tsx'
import { countOf, dollarsOf, percentOf } from './words.ts'

const HEADS = ['Policy', 'Most denials', 'Requests', 'Would be denied', 'Tokens', 'Dollars']

/** The denials that policies in shadow would have made. Nothing if none is in shadow. */
export function Shadow({ view }: { readonly view: View | undefined }): ReactNode {
  const policies = view?.shadow ?? []
  if (policies.length === 0) return null
  return (
    <section className="sluice-card" aria-labelledby="sluice-shadow">
      <h3 id="sluice-shadow">Limits on trial</h3>
      <p className="sluice-hint">
        Policies in shadow deny nothing. This is what they would have denied of what was allowed.
      </p>
      <ScrollTable name="Limits on trial" heads={HEADS}>
        {policies.map((policy) => (
          <Row key={policy.policy} policy={policy} />
        ))}
      </ScrollTable>
    </section>
  )
}

function Row({ policy }: { readonly policy: ShadowView }): ReactNode {
  const { requests, denied, tokens, usd, tenants } = policy
  const most = tenants.map((one) => `${one.tenant || 'no tenant'} ${countOf(one.denied)}`)
  return (
    <tr>
      <th scope="row">{policy.policy}</th>
      <td className="sluice-text">{most.join(', ') || '–'}</td>
      <td>{countOf(requests)}</td>
      <td className={denied > 0 ? 'sluice-denied' : ''}>
        {countOf(denied)} ({percentOf(denied, requests)})
      </td>
      <td>{countOf(tokens)}</td>
      <td>{dollarsOf(usd)}</td>
    </tr>
  )
}
