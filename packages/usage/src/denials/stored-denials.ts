/* Denials in the store: a record for each tenant and day, with a field for each id. */
import type { Clock, Records } from '@sluice/core'
import { readCounters } from '../counters/read-counters.ts'
import { dayOf, PERIOD_MS } from '../hours.ts'
import { tenantNames, type TenantForm } from '../recording/tenant-names.ts'
import type { RecordedDenial } from './denial.ts'

/** The field that counts the others. No id is empty. */
export const COUNT = ''

/** Where a limiter keeps its denials. */
export interface DenialsPlace {
  readonly records: Records
  readonly clock: Clock
  readonly form: TenantForm
}

/** Returns the key of the record that has the denials of a tenant on a day. */
export async function keyOf(tenant: string, day: number, form: TenantForm): Promise<string> {
  const names = await tenantNames([tenant], form)
  return `denials:${new Date(day).toISOString().slice(0, 10)}:${names.get(tenant)}`
}

/** Returns the keys of the days that are kept. */
function keysAt(tenant: string, { clock, form }: DenialsPlace): Promise<string[]> {
  const today = dayOf(clock())
  return Promise.all([today, today - PERIOD_MS.day].map((day) => keyOf(tenant, day, form)))
}

/** Reads the denial of an id. */
export async function findDenial(
  place: DenialsPlace,
  tenant: string,
  id: string,
): Promise<RecordedDenial | undefined> {
  if (id === COUNT) return undefined
  const keys = await keysAt(tenant, place)
  const texts = await place.records.read(keys.map((key) => ({ key, field: id })))
  const text = texts.find((one) => one !== undefined)
  return text === undefined ? undefined : parse(id, text)
}

/** Reads all denials of a tenant, the latest first. */
export async function findDenials(place: DenialsPlace, tenant: string): Promise<RecordedDenial[]> {
  const days = await readCounters(place.records, await keysAt(tenant, place), place.clock())
  return days
    .flatMap((fields) => [...fields].filter(([id]) => id !== COUNT))
    .map(([id, text]) => parse(id, text))
    .toSorted((a, b) => b.at - a.at)
}

const parse = (id: string, text: string): RecordedDenial => ({
  ...(JSON.parse(text) as RecordedDenial),
  id,
})
