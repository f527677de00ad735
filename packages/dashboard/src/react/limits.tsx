import { localTimeText } from '@sluice/core/internal/text'
import type { ReactNode } from 'react'
import type { ChoiceView, PolicyView, TenantView } from '../view.ts'
import { leftAt } from './merge.ts'
import { amountOf, countOf, titleOf } from './words.ts'

interface LimitsProps {
  readonly tenant: TenantView | undefined
  readonly now: number
}

export function Limits({ tenant, now }: LimitsProps): ReactNode {
  return (
    <section className="sluice-card" aria-labelledby="sluice-limits">
      <h3 id="sluice-limits">{tenant ? `Limits of ${tenant.tenant}` : 'Limits'}</h3>
      {tenant ? (
        <ul className="sluice-limits">
          {tenant.policies.map((policy) => (
            <li key={`${policy.limiter} ${policy.name} ${policy.route}`}>
              <Limit policy={policy} tenant={tenant.tenant} now={now} />
            </li>
          ))}
        </ul>
      ) : (
        <p className="sluice-hint">They appear with a tenant’s first request.</p>
      )}
      {tenant?.choices && <Choices choices={tenant.choices} />}
    </section>
  )
}

/** The calls by the model asked for and the one used, with the reason of the latest that got another. */
const Choices = ({ choices }: { readonly choices: readonly ChoiceView[] }): ReactNode => (
  <ul className="sluice-findings">
    {choices.map(({ asked, used, calls, passedOver }) => (
      <li key={`${asked} ${used}`}>
        {`${asked} → ${used ?? 'denied'}: ${callsText(calls)}`}
        {passedOver.map((text) => (
          <p key={text} className="sluice-hint">
            {text}
          </p>
        ))}
      </li>
    ))}
  </ul>
)

const callsText = (calls: number): string => `${countOf(calls)} ${calls === 1 ? 'call' : 'calls'}`

interface LimitProps {
  readonly policy: PolicyView
  readonly tenant: string
  readonly now: number
}

function Limit({ policy, tenant, now }: LimitProps): ReactNode {
  const { unit, limit, windowMs, denied, enforced, name, adapted, resetsAt, freshAt } = policy
  const left = leftAt(policy, now)
  const used = limit - left
  const title = titleOf(policy)
  // A balance without an allowance has no limit.
  const isBalance = windowMs === 0
  const text = isBalance
    ? `${amountOf(unit, left)} left`
    : `${amountOf(unit, used)} of ${amountOf(unit, limit)} used`
  return (
    <>
      <p className="sluice-limit">
        <span>
          {title} <code>{name}</code>
        </span>
        <span>
          <strong>{amountOf(unit, left)}</strong> left
        </span>
      </p>
      <div
        role="meter"
        aria-label={`${title}, ${tenant}`}
        aria-valuemin={0}
        aria-valuemax={limit}
        aria-valuenow={used}
        aria-valuetext={text}
        className={left === 0 && limit > 0 ? 'sluice-meter sluice-full' : 'sluice-meter'}
      >
        <div style={{ width: `${limit === 0 ? 0 : (100 * used) / limit}%` }} />
      </div>
      <p className="sluice-hint">
        {text}
        {denied > 0 && `, ${countOf(denied)} ${enforced ? 'denied' : 'would be denied'}`}
        {resetsAt !== undefined && now < freshAt && `, resets at ${localTimeText(resetsAt)}`}
      </p>
      {adapted && (
        <p className="sluice-hint">
          {amountOf(unit, limit)} now, {amountOf(unit, adapted.most)} in the code: {adapted.why}
        </p>
      )}
    </>
  )
}
