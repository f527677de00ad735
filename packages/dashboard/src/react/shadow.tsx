import type { ReactNode } from 'react'
import type { ShadowView, View } from '../view.ts'
import { countOf, dollarsOf, percentOf } from './words.ts'

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
      <div
        className="sluice-scroll"
        tabIndex={0}
        role="group"
        aria-label="Limits on trial, a table to scroll"
      >
        <table>
          <thead>
            <tr>
              <th scope="col">Policy</th>
              <th scope="col">Most denials</th>
              <th scope="col">Requests</th>
              <th scope="col">Would be denied</th>
              <th scope="col">Tokens</th>
              <th scope="col">Dollars</th>
            </tr>
          </thead>
          <tbody>
            {policies.map((policy) => (
              <Row key={policy.policy} policy={policy} />
            ))}
          </tbody>
        </table>
      </div>
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
