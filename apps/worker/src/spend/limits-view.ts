import type { Limiter, PolicyState } from '@sluice/core'
import { listApiKeys, type ApiKey } from '@sluice/core/api-keys'
import { localTimeText } from '@sluice/core/internal/text'
import { html, type Html } from './html.ts'
import type { Scope } from './query.ts'
import { amountOf, durationOf, unitOf } from './words.ts'

/** A member of an organisation, or the organisation itself. */
export type Member = Readonly<Partial<Record<'tenant' | 'team' | 'user' | 'key', string>>>

/**
 * Looks up what an organisation, team, user or key has left, and returns it as markup. Nothing is charged. The plan is
 * that of the key, or of the member's key that was used last.
 *
 * @throws StoreError When the store fails.
 */
export async function limitsView(limiter: Limiter, member: Member, scope: Scope): Promise<Html> {
  const { tenant = '' } = member
  const isForeign = scope.tenant !== undefined && scope.tenant !== tenant
  const keys = tenant === '' || isForeign ? [] : await listApiKeys(limiter, tenant)
  const own = keys.filter((key) => isOf(key, member)).toSorted(byLastUse)
  const [latest] = own
  if (!latest) return html`<p class="sluice-hint">No key is known of ${nameOf(member)}.</p>`
  const named = member.key === undefined ? {} : latest.subject
  const subject = {
    tenant,
    team: member.team ?? named['team'],
    user: member.user ?? named['user'],
    key: member.key,
    run: undefined,
    plan: latest.subject.plan,
  }
  const { policies, plan, degraded } = await limiter.peek(subject, { cost: NOTHING })
  if (degraded) return html`<p class="sluice-hint">The store does not answer.</p>`
  return html`<section class="sluice-card" aria-labelledby="limits">
    <h3 id="limits" tabindex="-1">Limits of ${nameOf(member)}</h3>
    <p class="sluice-hint">
      Plan ${plan ?? '(none)'}, ${own.length === 1 ? 'one key' : `${own.length} keys`}. With the
      estimates of calls that run.
    </p>
    <ul class="sluice-limits">
      ${policies.map((state) => limit(state))}
    </ul>
  </section>`
}

const NOTHING = { request: 0, token: 0, usd: 0, call: 0 }

const isOf = ({ id, subject }: ApiKey, { team, user, key }: Member): boolean =>
  !('role' in subject) &&
  (key === undefined || key === id) &&
  (team === undefined || team === subject['team']) &&
  (user === undefined || user === subject['user'])

const byLastUse = (a: ApiKey, b: ApiKey): number => (b.lastUsedAt ?? 0) - (a.lastUsedAt ?? 0)

const nameOf = ({ tenant = '', team, user, key }: Member): string =>
  [tenant, team, user, key].filter(Boolean).join(', ')

function limit({ name, scope, unit, burst, remaining, resetMs, resetsAt }: PolicyState): Html {
  const used = Math.max(0, burst - remaining)
  const text = `${amountOf(unit, used)} of ${amountOf(unit, burst)} used`
  const end = resetsAt === undefined ? '' : `, at ${localTimeText(resetsAt)}`
  const back = used > 0 && resetMs > 0 ? `, back in ${durationOf(resetMs)}${end}` : ''
  const share = burst === 0 ? 0 : Math.min(100, (100 * used) / burst)
  return html`<li>
    <p class="sluice-limit">
      <span
        >${unitOf(unit)} of the ${scope === 'tenant' ? 'organisation' : scope}
        <code>${name}</code></span
      >
      <span><strong>${amountOf(unit, remaining)}</strong> left</span>
    </p>
    <svg
      class="spend-bar ${remaining === 0 ? 'spend-full' : ''}"
      viewBox="0 0 100 1"
      preserveAspectRatio="none"
      role="meter"
      aria-label="${name}"
      aria-valuemin="0"
      aria-valuemax="${burst}"
      aria-valuenow="${used}"
      aria-valuetext="${text}"
    >
      <rect width="${share}" height="1" />
    </svg>
    <p class="sluice-hint">${text}${back}</p>
  </li>`
}
