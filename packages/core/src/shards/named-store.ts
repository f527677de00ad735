/* A store of several, which says its name. */
import { systemClock } from '../clock.ts'
import { StoreError } from '../errors.ts'
import { decisionsOf, type Store } from '../stores/store.ts'
import { hasMoved } from './shard-record.ts'

/** Returns a store whose replies and errors name it. */
export function named(name: string, store: Store): Store {
  const hasGone = (): StoreError =>
    errorAt(name, {
      code: 'store_moved',
      reason:
        'the tenant has moved to another database; start this process with the list of databases that has it',
    })
  const isMoved = (keys: readonly string[], startedAt: number): Promise<boolean> =>
    store.run(hasMoved(keys, startedAt))

  /** Throws the error of a call about these keys. */
  async function fail(error: unknown, keys: readonly string[], startedAt: number): Promise<never> {
    if (!(error instanceof StoreError)) throw error
    const { word } = error
    // A fence is of another type than what it replaces.
    const mayBeMoved = word === 'WRONGTYPE' || word === 'ERR'
    if (mayBeMoved && (await isMoved(keys, startedAt).catch(() => false))) throw hasGone()
    throw errorAt(name, error)
  }

  return {
    timeoutMs: store.timeoutMs,
    async check(request) {
      try {
        return { ...(await store.check(request)), place: name }
      } catch (error) {
        const keys = decisionsOf(request).flatMap(({ entries }) => entries.map(({ key }) => key))
        return fail(error, keys, request.startedAt)
      }
    },
    async run(operation) {
      const { kind, keys, startedAt } = operation
      try {
        // A write to the place of a record that has moved would be lost.
        if (!kind.writesRecords || !(await isMoved(keys, startedAt)))
          return await store.run(operation)
      } catch (error) {
        await fail(error, keys, startedAt)
      }
      throw hasGone()
    },
    async reset(keys) {
      const startedAt = systemClock()
      try {
        // Without its fence, a key would be counted in two stores.
        if (!(await isMoved(keys, startedAt))) return await store.reset(keys)
      } catch (error) {
        await fail(error, keys, startedAt)
      }
      throw hasGone()
    },
  }
}

/** Returns the error of the store of this name. */
export function errorAt(place: string, error: Pick<StoreError, 'code' | 'reason'>): StoreError {
  const { code, reason, status, word }: Partial<StoreError> & typeof error = error
  return Object.assign(new StoreError(code, `${place}: ${reason}`, status), { place, word })
}
