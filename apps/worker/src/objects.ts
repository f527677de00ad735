import { LimitsObject, objectChoices } from '@sluice/cloudflare/durable-object'
import { usageOperations } from '@sluice/usage'
import type { StoreChange, StoreMemory } from './env.ts'
import { OBJECTS } from './store.ts'

/** The field that holds the name of the store. */
const STORE = 'store'

/** The Durable Objects of the gateway: one for each tenant, and `home` for keys, usage and the name of the store. */
export class Limits extends LimitsObject implements StoreMemory {
  protected override readonly own = { operations: usageOperations, choices: objectChoices }

  async countedIn(store: string, change: StoreChange): Promise<string | undefined> {
    const { storage } = this.ctx
    // An object that holds something has an alarm: keys may be there before any call.
    const holdsKeys = (await storage.getAlarm()) !== null
    const known = storage.kv.get<string>(STORE) ?? (holdsKeys ? OBJECTS : undefined)
    if (change === 'never') return known
    const next = change === 'always' ? store : (known ?? store)
    if (storage.kv.get(STORE) !== next) storage.kv.put(STORE, next)
    return next
  }

  /** Keeps the name of the store when an object without any key deletes itself. */
  override async alarm(): Promise<void> {
    const { kv } = this.ctx.storage
    const store = kv.get<string>(STORE)
    await super.alarm()
    if (store !== undefined && kv.get(STORE) === undefined) kv.put(STORE, store)
  }
}
