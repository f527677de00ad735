import { hasBearer } from '@sluice/core/internal/http'
import type { DashboardRecord } from '../records/record.ts'
import { MAX_BATCH_LENGTH, type Batch } from '../records/batches.ts'
import { parseJson } from '@sluice/core/internal/limiter'
import { isObject } from '../json.ts'

/** Checks the records that another process has sent with its key, and passes them to the dashboard's state. */
export async function takeRecords(
  request: Request,
  key: string | undefined,
  take: (batch: Batch) => void,
): Promise<Response> {
  if (key === undefined || !(await hasBearer(request, key))) {
    return Response.json({ message: 'Send the key of the option "relayKey".' }, { status: 403 })
  }
  const text = await request.text()
  const batch = text.length > MAX_BATCH_LENGTH ? undefined : parseJson(text)
  if (!isBatch(batch)) {
    const message = 'Send records as relay of the same version does.'
    return Response.json({ message }, { status: 400 })
  }
  take(batch)
  return new Response(null, { status: 204 })
}

const TIMES = { at: 'number', settleBy: 'number', isDegraded: 'boolean' }

/** The fields of each type of record. Senders have the key: this catches other versions, not attackers. */
const FIELDS: Readonly<Record<DashboardRecord['type'], Readonly<Record<string, string>>>> = {
  decision: {
    limiter: 'string',
    tenant: 'string',
    at: 'number',
    allowed: 'boolean',
    policies: 'list',
    call: 'string',
    estimateUsd: 'number',
  },
  reserved: { limiter: 'string', tenant: 'string', id: 'string', usd: 'number', ...TIMES },
  settled: { id: 'string', tokens: 'number', returned: 'object', overrun: 'object' },
  abandoned: { id: 'string' },
  problem: { code: 'string', message: 'string' },
}

function isBatch(value: unknown): value is Batch {
  if (!isObject(value)) return false
  const { source, first, records } = value
  const isNumbered = Number.isSafeInteger(first) && Number(first) >= 0
  return isName(source) && isNumbered && Array.isArray(records) && records.every(isRecord)
}

const isName = (value: unknown): boolean => typeof value === 'string' && /^[\w-]{1,64}$/.test(value)

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
