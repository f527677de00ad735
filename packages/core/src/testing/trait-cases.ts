import type { PolicyRule } from '../policies/policy.ts'
import type { Store } from '../stores/store.ts'
import type { PolicyMaker } from './policy-cases.ts'
import { numbersAt, probe, remainingUnits } from './probe.ts'
import { expectEqual, expectThat, type Cases } from './suite.ts'

/** The parts of a window after which histories begin, so that a window on a grid ends in one of them. */
const PHASES = [0, 0.25, 0.5, 0.75]

/** The claims about the traits of the algorithm of a policy. */
export function traitCases(policyOf: PolicyMaker, rule: PolicyRule): Cases<Store> {
  const { algorithm, params, windowMs } = rule
  const { slides, windowEnd, endsTogether } = algorithm.traits ?? {}
  return {
    ...(slides && {
      async 'units of an algorithm that slides count for a window, whenever they are charged'(
        store,
      ) {
        for (const phase of PHASES) {
          const { spend, peek, clock } = probe(store, [policyOf(10)])
          clock.advance(Math.floor(windowMs * phase))
          await spend(1)
          clock.advance(Math.floor(windowMs * 0.75))
          await spend(1, 7)
          clock.advance(Math.floor(windowMs / 2))
          const used = 10 - (remainingUnits(await peek(0))['tested'] ?? 0)
          expectThat(
            used >= 3,
            `7 units count as ${used} after half a window, instead of 3 or more`,
          )
        }
      },
    }),
    ...(endsTogether && {
      async 'all units return when resetMs is over, and none before'(store) {
        const { spend, peek, clock } = probe(store, [policyOf(10)])
        await spend(1, 7)
        clock.advance(Math.floor(windowMs / 4))
        await spend(1)
        const { remaining = 0, resetMs = 0 } = (await peek(0)).policies[0] ?? {}
        expectThat(resetMs > 0, `resetMs is ${resetMs} with ${10 - remaining} units in use`)
        clock.advance(resetMs - 1)
        expectEqual(remainingUnits(await peek(0)), { tested: remaining }, 'Remaining before it')
        clock.advance(1)
        expectEqual(remainingUnits(await peek(0)), { tested: 10 }, 'Remaining at it')
      },
    }),
    ...(windowEnd && {
      async 'all units return at windowEnd, and none before'(store) {
        const { spend, peek, clock } = probe(store, [policyOf(10)])
        await spend(1, 7)
        const untilEnd = windowEnd(params, clock(), numbersAt(rule, clock())) - clock()
        const isWithin = untilEnd > 0 && untilEnd <= windowMs
        expectThat(isWithin, `windowEnd is ${untilEnd} ms from now, instead of 1 to ${windowMs}`)
        clock.advance(untilEnd - 1)
        expectEqual(remainingUnits(await peek(0)), { tested: 3 }, 'Remaining before the end')
        clock.advance(1)
        expectEqual(remainingUnits(await peek(0)), { tested: 10 }, 'Remaining at the end')
      },
    }),
  }
}
