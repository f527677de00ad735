import { createLimiter, defineExtension, extensionHandle, slidingWindow } from '@sluice/core'
import type {
  LuaOperation,
  LuaOperationKind,
  Operation,
  OperationKind,
  Records,
  Store,
} from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { expect, it } from 'vitest'
import { sharedRedis } from '../../support/running-redis.ts'

const shared = sharedRedis()

const increment: OperationKind<number, number> = {
  name: 'test.increment',
  run(states, { keys: [key = ''], data: by }) {
    const count = ((states.get(key, 0) as number | undefined) ?? 0) + by
    states.set(key, { state: count, expiresAt: Infinity })
    return count
  },
}

const incrementWithLua: LuaOperationKind<number, number> = {
  ...increment,
  lua: {
    script: () => `return redis.call('INCRBY', KEYS[1], ARGV[1])`,
    args: (by) => [String(by)],
    parse: (reply) => (typeof reply === 'number' ? { result: reply } : undefined),
  },
}

const operation: LuaOperation<number, number> = {
  kind: incrementWithLua,
  keys: [`own:${crypto.randomUUID()}`],
  data: 3,
  startedAt: Date.now(),
}

const policies = [slidingWindow({ name: 'rpm', limit: 1, window: '1m', per: ['tenant'] })]
const records = defineExtension({
  name: 'records',
  connect: (context) => ({ handle: context.records }),
})

function recordsOf(store: Store): Records {
  const limiter = createLimiter({ store, policies, extensions: [records] })
  return extensionHandle<Records>(limiter, 'records', 'records')
}

it('an operation of your own runs in memory and in Redis alike', async () => {
  for (const store of [memory(), shared.store()]) {
    expect(await recordsOf(store).run(operation)).toBe(3)
    expect(await recordsOf(store).run(operation)).toBe(6)
  }
})

it('an operation without Lua does not compile', () => {
  const withoutLua: Operation<number> = { ...operation, kind: increment }
  // @ts-expect-error: a limiter's store may be in Redis
  void (() => recordsOf(memory()).run(withoutLua))
  expect(withoutLua.kind).not.toHaveProperty('lua')
})
