import { afterAll, describe, expect, it } from 'vitest'
import { jsonOf } from '../operator.ts'
import { project, removeProjects } from '../project.ts'

afterAll(removeProjects)

const appWith = (policy: string) =>
  project({
    'limits.ts': `
import * as core from '@sluice/core'
import { calendar } from '@sluice/core/calendars'
import { credits } from '@sluice/core/credits'
import { memory } from '@sluice/core/memory'
import { waitingLine } from '@sluice/core/waiting'

const own = { name: 'own', window: '1m', per: ['tenant'], limit: 9 }
const balance = { name: 'own', per: ['tenant'], unsettled: 'keep' }
const resets = calendar({ every: 'month' })
export const limiter = core.createLimiter({
  store: memory(),
  onStoreError: 'deny',
  plans: core.definePlans({ free: { rpm: 30, usd: 0 }, pro: { rpm: 60, usd: 5_000_000 } }),
  policies: [${policy}],
})
`,
  })

describe('the limits that sluice show reads in the code', () => {
  it.each([
    ['core.slidingWindow(own)', '9 | request | 1m | tenant'],
    [
      'core.slidingWindow({ ...own, limit: ({ plan }) => plan.rpm })',
      'free 30, pro 60 | request | 1m | tenant',
    ],
    [
      "core.slidingWindow({ ...own, limit: ({ plan, route }) => (route === 'chat' ? 3 : plan.rpm) })",
      'by request | request | 1m | tenant',
    ],
    [
      'core.slidingWindow({ ...own, limit: (asked) => (asked.plan.rpm > 30 ? 60 : asked.model ? 1 : 2) })',
      'free by request, pro 60 | request | 1m | tenant',
    ],
    ['core.slidingWindow({ ...own, limit: () => 7 })', '7 | request | 1m | tenant'],
    ["core.slidingWindow({ ...own, mode: 'shadow' })", '9 | request | 1m | tenant | shadow'],
    [
      'core.slidingWindow({ ...own, rollout: core.rollout({ enforced: 10 }) })',
      '9 | request | 1m | tenant | enforced for 10 %',
    ],
    [
      "core.slidingWindow({ ...own, rollout: core.rollout({ enabled: 50, enforced: 0, by: 'request' }) })",
      '9 | request | 1m | tenant | counted for 50 %, enforced for 0 %',
    ],
    [
      "core.slidingWindow({ ...own, mode: 'shadow', rollout: core.rollout({ enabled: 50, enforced: 9 }) })",
      '9 | request | 1m | tenant | shadow, counted for 50 %',
    ],
    [
      'core.slidingWindow({ ...own, rollout: core.rollout({ enforced: 100 }) })',
      '9 | request | 1m | tenant',
    ],
    ['credits(balance)', 'balance | usd | none | tenant'],
    [
      'credits({ ...balance, included: { amount: 2_000_000, resets } })',
      'balance, includes $2.00 | usd | 31d | tenant',
    ],
    [
      'credits({ ...balance, included: { amount: ({ plan }) => plan.usd, resets } })',
      'balance, includes free $0.00, pro $5.00 | usd | 31d | tenant',
    ],
  ])('of %s', async (policy, row) => {
    const { out, err } = await appWith(policy).sluice(['show'])
    expect(err).toBe('')
    expect(out.split('\n')[1]?.replaceAll(/ {2,}/g, ' | ')).toBe(`own | ${row}`)
  })

  it('marks the rule beside a limit, too', async () => {
    const { out } = await appWith(
      'waitingLine(core.slidingWindow({ ...own, rollout: core.rollout({ enforced: 10 }) }))',
    ).sluice(['show'])
    expect(out.match(/^own(\.line)? .*enforced for 10 %$/gm)).toHaveLength(2)
  })

  it('has the same for programs', async () => {
    const json = jsonOf(
      await appWith(
        'core.slidingWindow({ ...own, rollout: core.rollout({ enforced: 10 }) }), credits({ ...balance, name: "left" })',
      ).sluice(['show', '--json']),
    )
    expect(json).toMatchObject({
      limits: [
        { name: 'own', mode: 'enforce', rollout: { enabled: 100, enforced: 10 }, isBalance: false },
        { name: 'left', mode: 'enforce', isBalance: true },
      ],
    })
  })
})
