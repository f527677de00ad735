import type { Limiter } from '../limiter/limiter.ts'
import { keyRecords } from './key-records.ts'
import { changeKey } from './manage.ts'
import { apiKeyOf, type ApiKey, type StoredKey } from './record.ts'

/**
 * Changes the plan of requests that are sent with a key. An isolate that has just seen the key uses the old one for five
 * seconds more.
 *
 * @throws InputError When there is no key of this name.
 * @throws StoreError When the store fails.
 * @example
 * await planApiKey(limiter, 'key_0123456789abcdef', 'growth')
 */
export async function planApiKey(limiter: Limiter, id: string, plan: string): Promise<ApiKey> {
  let planned: StoredKey | undefined
  await changeKey(keyRecords(limiter), id, (stored) => {
    planned = { ...stored, subject: { ...stored.subject, plan } }
    return [planned]
  })
  return apiKeyOf(planned as StoredKey)
}
