/* Requests that wait, over a store that counts its calls. The test sets the clock. */
import {
  createLimiter,
  slidingWindow,
  StoreError,
  type Decision,
  type Limiter,
  type Policy,
  type Store,
} from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { waitFor, waitingLine, type Waited, type WaitForOptions } from '@sluice/core/waiting'
import { expect } from 'vitest'
import { ACME, collectProblems } from '../../support/limiters.ts'

/** A limit per ten seconds, with a line. */
export const perTenSeconds = (
  limit: number,
  options: Parameters<typeof waitingLine>[1] = {},
): Policy =>
  waitingLine(slidingWindow({ name: 'rpm', limit, window: '10s', per: ['tenant'] }), options)

/** A store that counts its calls, and fails when told to. */
function counted(store: Store = memory()) {
  const calls = { check: 0, run: 0 }
  const down = new Set<'check' | 'run'>()
  const answer = <T>(kind: 'check' | 'run', ask: () => Promise<T>): Promise<T> => {
    calls[kind] += 1
    return down.has(kind) ? Promise.reject(new StoreError('store_unreachable', 'down')) : ask()
  }
  const counting: Store = {
    check: (request) => answer('check', () => store.check(request)),
    run: (operation) => answer('run', () => store.run(operation)),
    reset: (keys) => store.reset(keys),
  }
  return { calls, down, store: counting }
}

/** A limiter whose requests wait up to 20 seconds, and one over the same counts whose requests do not. */
export function setUp(policies: readonly Policy[], options: WaitForOptions = {}) {
  const { calls, down, store } = counted()
  const { problems, listener } = collectProblems()
  const limiter: Limiter = createLimiter({ store, policies, extensions: [listener] })
  const waits: Waited[] = []
  const onWaited = (waited: Waited): void => void waits.push(waited)
  const patient = waitFor(limiter, '20s', { onWaited, ...options })
  return { calls, down, store, limiter, patient, waits, problems }
}

/** Starts a request, and notes when it was decided. */
export function begin(ask: () => Promise<Decision>) {
  const begun = { decision: undefined as Decision | undefined, afterMs: NaN }
  const at = Date.now()
  void ask().then((decision) => Object.assign(begun, { decision, afterMs: Date.now() - at }))
  return begun
}

/** Uses up a limit. */
export async function useUp(
  limiter: Limiter,
  units: number,
  subject: object = ACME,
): Promise<void> {
  expect((await limiter.check(subject, { cost: units })).allowed).toBe(true)
}
