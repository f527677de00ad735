import type { Algorithm, LuaFragments } from '../algorithms/algorithm.ts'
import type { Policy } from '../policies/policy.ts'
import type { Store } from '../stores/store.ts'
import type { PolicyMaker } from './policy-cases.ts'
import { manualClock } from '../clock.ts'
import { fixedWindow } from '../policies/fixed-window.ts'
import { createLimiter } from '../limiter/limiter.ts'
import { listen } from '../limiter/listen.ts'
import { freshSubject, numbersAt } from './probe.ts'
import { expectThat, type Cases } from './suite.ts'

const NOON_MS = Date.UTC(2026, 0, 15, 12, 0, 30)
const COST = 3
const LIMIT = 10

/** Added to what a changed script reports, which shows that the store runs scripts. */
const MARK = 1e12

/** The claims about the key of a policy in Redis. A store without scripts passes them. */
export const keyCases = (policyOf: PolicyMaker): Cases<Store> => ({
  async 'a key lives as long as what it counts'(store) {
    const policy = policyOf(LIMIT)
    const [rule] = policy()
    if (!rule) return
    const { algorithm, params } = rule
    const input = { limit: LIMIT, burst: LIMIT, cost: COST, params, ...numbersAt(rule, NOON_MS) }
    const { expiresAt } = algorithm.add(undefined, input, NOON_MS, 'id')
    const reporting = withLua(policy, '-lives', ({ check }) => ({
      check: `${check}\nreset = ${MARK} + redis.call('PTTL', key)`,
    }))
    const limiter = limiterOf(store, reporting)
    const subject = freshSubject()
    const startedAt = performance.now()
    await limiter.check(subject, { cost: COST })
    const { policies } = await limiter.peek(subject)
    const ttl = (policies[0]?.resetMs ?? 0) - MARK
    const hasScripts = ttl > -MARK / 2
    if (!hasScripts || expiresAt === Infinity) return
    expectThat(ttl !== -1, 'The key has no end: set an expiry where `add` writes it')
    const least = expiresAt - NOON_MS - Math.ceil(performance.now() - startedAt) - 1
    const message = `The key lives for ${ttl} ms; what it counts ends after ${expiresAt - NOON_MS} ms`
    expectThat(ttl >= least, message)
  },

  async 'what another has stored under its key is an error, and no budget'(store) {
    const policy = policyOf(LIMIT)
    const subject = freshSubject()
    const marked = withLua(policy, '-marked', ({ check }) => ({
      check: `${check}\nreset = ${MARK}`,
    }))
    const { policies } = await limiterOf(store, marked).peek(subject)
    if (policies[0]?.resetMs !== MARK) return
    const foreign = withLua(policy, '', () => ({
      add: `redis.call('SET', key, 'of another', 'PX', 60000)`,
    }))
    // Scripts are known by the algorithms in them: beside another policy, this one is a script of its own.
    const beside = fixedWindow({ name: 'beside', limit: 10, window: '37s', per: ['tenant'] })
    await limiterOf(store, foreign, beside).check(subject, { cost: 1 })
    const { degraded } = await limiterOf(store, policy).check(subject, { cost: 1 })
    expectThat(degraded !== undefined, 'A key that holds something else must fail in `check`')
  },
})

/** A limiter whose problems are not printed. */
const limiterOf = (store: Store, ...policies: Policy[]) =>
  createLimiter({
    store,
    policies,
    clock: manualClock(NOON_MS),
    extensions: [listen({ problem: () => undefined })],
  })

/** Returns the policy with another Lua twin, and with this at the end of its algorithm's id. */
function withLua(
  policy: Policy,
  suffix: string,
  change: (lua: LuaFragments) => Partial<LuaFragments>,
): Policy {
  const changed = (algorithm: Algorithm): Algorithm => ({
    ...algorithm,
    id: algorithm.id + suffix,
    lua(params) {
      const lua = algorithm.lua(params)
      return { ...lua, ...change(lua) }
    },
  })
  const rules = policy().map((rule) =>
    Object.freeze({ ...rule, algorithm: changed(rule.algorithm) }),
  )
  return () => rules
}
