import type { Dashboard } from './dashboard.ts'
import type { DashboardRecord } from './record.ts'
import { MAX_BATCH_LENGTH } from './batches.ts'

/** Counts the records that another process has sent, if it has the key. */
export async function takeRecords(
  request: Request,
  key: string | undefined,
  dashboard: Dashboard,
): Promise<Response> {
  const sentKey = /^Bearer (\S+)$/.exec(request.headers.get('authorization') ?? '')?.[1]
  if (key === undefined || sentKey === undefined || !(await isEqual(sentKey, key))) {
    return Response.json({ message: 'Send the key of the option "relayKey".' }, { status: 403 })
  }
  const text = await request.text()
  const records = text.length > MAX_BATCH_LENGTH ? undefined : parse(text)
  if (!records?.every(isRecord)) {
    const message = 'Send a list of records, as relay does.'
    return Response.json({ message }, { status: 400 })
  }
  for (const record of records) dashboard.take(record)
  return new Response(null, { status: 204 })
}

/** Compares digests, so that the time says nothing about the key. */
async function isEqual(a: string, b: string): Promise<boolean> {
  const [first, second] = await Promise.all([digest(a), digest(b)])
  return first.every((byte, index) => byte === second[index])
}

const digest = async (text: string): Promise<Uint8Array> =>
  new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)))

function parse(text: string): readonly unknown[] | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** The fields of each type of record. Senders have the key: this catches other versions, not attackers. */
const FIELDS: Readonly<Record<DashboardRecord['type'], Readonly<Record<string, string>>>> = {
  decision: {
    limiter: 'string',
    tenant: 'string',
    allowed: 'boolean',
    policies: 'list',
    call: 'string',
    estimateUsd: 'number',
  },
  reserved: { limiter: 'string', tenant: 'string', id: 'string', usd: 'number' },
  settled: { id: 'string', returned: 'object', overrun: 'object' },
  abandoned: { id: 'string' },
  problem: { code: 'string', message: 'string' },
}

function isRecord(value: unknown): value is DashboardRecord {
  if (!isObject(value)) return false
  const type = String(value['type'])
  if (!Object.hasOwn(FIELDS, type)) return false
  const fields = Object.entries(FIELDS[type as DashboardRecord['type']])
  return fields.every(([name, kind]) => isOf(kind, value[name]))
}

function isOf(kind: string, value: unknown): boolean {
  if (kind === 'list') return Array.isArray(value) && value.every(isObject)
  return kind === 'object' ? isObject(value) : typeof value === kind
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null
