/* The list of a tenant's keys: the names that a tenant may see and end. */
import type { RecordField } from '../stores/store.ts'
import { invalidOption } from '../internal/validation.ts'
import { retryWrite } from '../limiter/retry-write.ts'
import { encodePartitionAsync, type Subject } from '../subject.ts'
import type { KeyRecords } from './key-records.ts'
import {
  apiKeyOf,
  ID,
  KEY_FIELDS,
  listKey,
  parseList,
  parseStored,
  recordKey,
  type ApiKey,
} from './record.ts'

/** The most keys of one tenant. Expired ones leave the list when it is full. */
const MAX_KEYS = 1_000

/** The time after which an empty list expires. A deletion could hit a key just made by others. */
const EMPTY_MS = 60_000

/** Changes the list of a tenant's keys. When it is full, names that are no valid keys any more are dropped first. */
export async function changeList(
  records: KeyRecords,
  subject: Readonly<Record<string, string>>,
  change: (ids: readonly string[]) => readonly string[],
): Promise<void> {
  const field = await listField(subject)
  await retryWrite(async () => {
    const [text] = await records.read([field])
    const ids = parseList(text)
    const known = ids.length < MAX_KEYS ? ids : await validIn(records, ids)
    const changed = change(known)
    if (changed.length > MAX_KEYS) {
      const rule = `the tenant has ${MAX_KEYS} keys, and may have no more: revoke some`
      throw invalidOption('createApiKey', rule)
    }
    const write = { key: field.key, set: { ids: JSON.stringify(changed) } }
    return records.write([changed.length === 0 ? { ...write, ttlMs: EMPTY_MS } : write], {
      ...field,
      is: text,
    })
  })
}

async function validIn(records: KeyRecords, ids: readonly string[]): Promise<string[]> {
  const now = records.clock()
  const keys = await readAll(records, ids)
  return keys.filter(({ expiresAt = Infinity }) => expiresAt > now).map(({ id }) => id)
}

/** Returns what is known of the keys of these names. Others are left out. */
export async function readAll(records: KeyRecords, ids: readonly string[]): Promise<ApiKey[]> {
  const known = ids.filter((id) => ID.test(id))
  if (known.length === 0) return []
  const values = await records.read(
    known.flatMap((id) => KEY_FIELDS.map((field) => ({ key: recordKey(id), field }))),
  )
  return known.flatMap((_, at) => {
    const stored = parseStored(values[2 * at])
    return stored ? [apiKeyOf(stored, values[2 * at + 1])] : []
  })
}

/** Returns the field that has the names of a tenant's keys. */
export async function listField(subject: Subject): Promise<RecordField> {
  return { key: listKey(await encodePartitionAsync(subject, ['tenant'])), field: 'ids' }
}
