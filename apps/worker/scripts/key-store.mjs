// The virtual keys in Redis, as src/keys.ts reads them.
import { randomBytes } from 'node:crypto'
import { hashOf, KEYS, NAME, recordIn } from '../src/keys.ts'
import { PLANS } from '../src/limits.ts'
import { redisAt } from '../src/redis.ts'

/** Manages the keys in the Redis at `settings`: `{ url, token, timeoutMs }`. */
export function keyStore(settings) {
  const redis = redisAt(settings)

  /** Returns pairs of a hash and its record. */
  async function entries() {
    const reply = await redis('HGETALL', KEYS)
    return reply.flatMap((hash, index) => {
      const record = index % 2 === 0 ? recordIn(reply[index + 1]) : null
      return record ? [[hash, record]] : []
    })
  }

  return {
    /** Creates a key. Its text is in the result, and nowhere else. */
    async create({ tenant, team, user, plan }) {
      for (const [name, value] of Object.entries({ tenant: tenant ?? '', team, user })) {
        if (value === undefined || NAME.test(value)) continue
        throw new Error(`--${name} must be 1 to 64 letters, digits, "_", ".", "@" or "-"`)
      }
      if (!Object.hasOwn(PLANS, plan ?? '')) {
        throw new Error(`--plan must be one of ${Object.keys(PLANS).join(', ')}`)
      }
      const key = `sk-${randomBytes(32).toString('base64url')}`
      const id = `key_${randomBytes(6).toString('hex')}`
      const record = { id, tenant, team, user, plan, created: new Date().toISOString() }
      await redis('HSET', KEYS, await hashOf(key), JSON.stringify(record))
      return { key, ...record }
    },

    /** Lists the records, the oldest first. */
    async list() {
      const records = (await entries()).map(([, record]) => record)
      return records.toSorted((a, b) => a.created.localeCompare(b.created))
    },

    /** Revokes the key with this id. Throws if there is none. */
    async revoke(id) {
      const found = (await entries()).find(([, record]) => record.id === id)
      if (!found) throw new Error(`There is no key with the id "${id}": "list" shows the ids`)
      await redis('HDEL', KEYS, found[0])
    },
  }
}
