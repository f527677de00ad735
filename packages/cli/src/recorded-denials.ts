import type { Limiter } from '@sluice/core'
import { nameText } from '@sluice/core/internal/text'
import type { RecordedDenial } from '@sluice/usage/denials'
import { installed } from './errors.ts'

/** Reads the denials of a tenant, the latest first. */
export async function recordedDenials(limiter: Limiter, tenant: string): Promise<RecordedDenial[]> {
  const { listDenials } = await installed('@sluice/usage', () => import('@sluice/usage/denials'))
  return listDenials(limiter, tenant)
}

/** Says that a tenant has none. */
export const noneText = (tenant: string): string =>
  `No denial of ${nameText(tenant)} is recorded since yesterday (UTC). One is saved some seconds after it.`
