import { invalidOption } from '@sluice/core/internal'
import { UNKNOWN } from '../rows.ts'
import { MAX_TEXT } from './cell.ts'

/** The form in which tenants are stored: `'plain'`, or hashed, with a secret or without. */
export type TenantForm = 'plain' | 'hashed' | { readonly secret: string | (() => string) }

/** Hexadecimal digits of a tenant's hash. */
const DIGITS = 20

const encoder = new TextEncoder()

/**
 * Returns the names under which tenants are stored: their ids, cut; or parts of their SHA-256 or HMAC-SHA-256. No
 * tenant, and an unknown one, keep their names.
 */
export async function tenantNames(
  tenants: Iterable<string>,
  form: TenantForm,
): Promise<ReadonlyMap<string, string>> {
  const hash = form === 'plain' ? undefined : await hashBy(form)
  const names = Array.from(new Set(tenants), async (tenant) => {
    const isHashed = hash && tenant !== '' && tenant !== UNKNOWN
    const name = isHashed ? await hash(encoder.encode(tenant)) : tenant.slice(0, MAX_TEXT)
    return [tenant, name] as const
  })
  return new Map(await Promise.all(names))
}

/** @throws ConfigError Unless it is a form of tenants. */
export function assertTenantForm(factory: string, form: TenantForm): void {
  if (form === 'plain' || form === 'hashed') return
  const secret: unknown = (form as Partial<Exclude<TenantForm, string>> | null)?.secret
  if (typeof secret === 'function' || (typeof secret === 'string' && secret !== '')) return
  const message = 'must be "plain", "hashed" or { secret }, a text or a function that returns it'
  throw invalidOption(`${factory}.tenants`, message)
}

type Hash = (bytes: Uint8Array<ArrayBuffer>) => Promise<string>

async function hashBy(form: Exclude<TenantForm, 'plain'>): Promise<Hash> {
  const { subtle } = crypto
  if (form === 'hashed') return async (bytes) => hexStart(await subtle.digest('SHA-256', bytes))
  const { secret } = form
  const bytes = encoder.encode(typeof secret === 'function' ? secret() : secret)
  const algorithm = { name: 'HMAC', hash: 'SHA-256' }
  const key = await subtle.importKey('raw', bytes, algorithm, false, ['sign'])
  return async (tenant) => hexStart(await subtle.sign('HMAC', key, tenant))
}

const hexStart = (bytes: ArrayBuffer): string =>
  Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, '0'))
    .join('')
    .slice(0, DIGITS)
