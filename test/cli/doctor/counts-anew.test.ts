/* The findings of `doctor` on each change that the page on upgrades lists. */
import { createLimiter, type Policy } from '@sluice/core'
import { leased } from '@sluice/core/leases'
import { memory } from '@sluice/core/memory'
import { flushUsage, recordUsage } from '@sluice/usage'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { judgeCounts } from '../../../packages/cli/dist/doctor/counts.js'
import { CHANGES, EFFECTS } from '../../docs/operate/policy-changes.ts'

// Both versions run in one process here, which warns of limits that differ.
beforeEach(() => void vi.spyOn(console, 'warn').mockImplementation(() => {}))

// Under another name nothing was counted before.
const changes = Object.entries(CHANGES).filter(
  ([row]) => EFFECTS.get(row) !== 'refused' && row !== '**`name`**',
)

describe.each(changes)('%s', (row, variants) => {
  const isAnew = EFFECTS.get(row) === 'start afresh'

  it.each(Object.entries(variants))(
    `${isAnew ? 'is warned of' : 'is fine'}: %s`,
    async (_, { before, after }) => {
      const store = memory()
      const start = (policy: Policy) =>
        createLimiter({
          store: policy().some((rule) => 'lease' in rule) ? leased(store) : store,
          policies: [policy],
          extensions: [recordUsage()],
        })
      const running = start(before)
      const units = before().map(({ unit }) => [unit, 1] as const)
      await running.check({ tenant: 'acme', route: 'chat' }, { cost: Object.fromEntries(units) })
      await flushUsage(running)
      const findings = await judgeCounts(start(after()))
      expect(findings.every(({ code }) => code === 'counts_anew')).toBe(true)
      expect(findings.length > 0).toBe(isAnew)
    },
  )
})
