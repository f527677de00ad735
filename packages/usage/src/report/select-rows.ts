import { tenantNames } from '../recording/tenant-names.ts'

/** Returns the ids of tenants by the names under which they are stored. */
export async function renaming(
  tenants: readonly string[],
  form: Parameters<typeof tenantNames>[1],
): Promise<ReadonlyMap<string, string>> {
  const names = await tenantNames(tenants, form)
  return new Map(Array.from(names, ([tenant, name]) => [name, tenant]))
}

/** Returns the rows of the tenants to select, under their ids. */
export function select<Row extends { readonly tenant: string }>(
  rows: readonly Row[],
  ids: ReadonlyMap<string, string> | undefined,
): Row[] {
  if (!ids) return [...rows]
  return rows.flatMap((row) => {
    const tenant = ids.get(row.tenant)
    return tenant === undefined ? [] : [{ ...row, tenant }]
  })
}

const comparable = (value: string | number | object): string | number =>
  typeof value === 'object' ? Object.values(value).join() : value

/** Orders rows by time, then by their names from left to right. */
export function byTimeAndNames(a: object, b: object): number {
  const others = Object.values(b) as (string | number | object)[]
  for (const [index, one] of (Object.values(a) as typeof others).entries()) {
    const [value, other] = [comparable(one), comparable(others[index] ?? '')]
    if (value !== other) return value < other ? -1 : 1
  }
  return 0
}
