/* The making of a key, and its end. */
import type { RecordWrite } from '../limiter/records.ts'
import { changeList } from './key-list.ts'
import type { KeyRecords } from './key-records.ts'
import { drawKey, hashOf, idOf, KEPT_MS, recordKey, type StoredKey } from './record.ts'

/** A key that may not be stored yet. */
export interface DrawnKey {
  readonly id: string
  readonly key: string
  readonly stored: StoredKey
}

/** Draws a key that is valid from `createdAt` on, in epoch ms. */
export async function draw(
  subject: Readonly<Record<string, string>>,
  prefix: string,
  lifetimeMs: number | undefined,
  createdAt: number,
): Promise<DrawnKey> {
  const key = drawKey(prefix)
  const hash = (await hashOf(key)) as string
  const expiresAt = lifetimeMs === undefined ? undefined : createdAt + lifetimeMs
  return { id: idOf(hash), key, stored: { hash, subject, createdAt, expiresAt, lifetimeMs } }
}

/** Returns the write of a key as it is from `now` on. */
export function keyWrite(stored: StoredKey, now: number): RecordWrite {
  const write = { key: recordKey(idOf(stored.hash)), set: { key: JSON.stringify(stored) } }
  if (stored.expiresAt === undefined) return write
  return { ...write, ttlMs: Math.max(1, stored.expiresAt + KEPT_MS - now) }
}

/**
 * Stores a key and lists it.
 *
 * @param ttl Forgets the key after this time, unless it is written again.
 */
export async function addKey(
  records: KeyRecords,
  { id, stored }: DrawnKey,
  ttl: Pick<RecordWrite, 'ttlMs'> = {},
): Promise<void> {
  // Before the list: a name without its key is dropped from there. A key that nobody has been told is none.
  await records.write([{ ...keyWrite(stored, stored.createdAt), ...ttl }])
  try {
    await changeList(records, stored.subject, (ids) => [...ids, id])
  } catch (error) {
    await records.remove([recordKey(id)])
    throw error
  }
}

/** Removes a key, also from the list of its tenant. */
export async function removeKey(
  records: KeyRecords,
  id: string,
  subject: Readonly<Record<string, string>>,
): Promise<void> {
  // Before the list: a name without its key is nothing.
  await records.remove([recordKey(id)])
  await changeList(records, subject, (ids) => ids.filter((one) => one !== id))
}
