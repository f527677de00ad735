/* A store of several, which says its name. */
import type { Store } from '../store.ts'
import { systemClock } from '../../clock.ts'
import { StoreError, type StoreErrorCode } from '../../errors.ts'
import { isWrite } from './fence.ts'
import { hasMoved } from './shard-record.ts'

/** Returns a store whose replies and errors name it. */
export function named(name: string, store: Store): Store {
  const hasGone = (): StoreError =>
    errorOf(
      name,
      'store_moved',
      'the tenant has moved to another database; start this process with the list of databases that has it',
    )
  const isMoved = (keys: readonly string[], startedAt: number): Promise<boolean> =>
    store.run(hasMoved(keys, startedAt))

  /** Throws the error of a call about these keys. */
  async function fail(error: unknown, keys: readonly string[], startedAt: number): Promise<never> {
    if (!(error instanceof StoreError)) throw error
    const { code, message } = error
    // A fence is of another type than what it replaces.
    const mayBeMoved = code === 'store_refused' && /WRONGTYPE|ERR/.test(message)
    if (mayBeMoved && (await isMoved(keys, startedAt).catch(() => false))) throw hasGone()
    throw errorAt(name, error)
  }

  return {
    timeoutMs: store.timeoutMs,
    async check(request) {
      try {
        return { ...(await store.check(request)), place: name }
      } catch (error) {
        const { entries, startedAt } = request
        const keys = entries.map(({ key }) => key)
        return fail(error, keys, startedAt)
      }
    },
    async run(operation) {
      const { kind, keys, startedAt } = operation
      try {
        // A write to the place of a record that has moved would be lost.
        if (!isWrite(kind) || !(await isMoved(keys, startedAt))) return await store.run(operation)
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

const errorOf = (name: string, code: StoreErrorCode, text: string, status?: number): StoreError =>
  Object.assign(new StoreError(code, `${name}: ${text}`, status), { place: name })

/** Returns the error of the store of this name. */
export function errorAt(name: string, { code, message, status }: StoreError): StoreError {
  const text = message.replace(/^Sluice: | \(docs\/errors\.md#\w+\)$/g, '')
  return errorOf(name, code, text, status)
}
