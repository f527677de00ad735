import type { Limiter } from '@sluice/core'
import { nameText } from '@sluice/core/internal/text'
import type { RecordedDenial } from '@sluice/usage/denials'
import { CommandError, installed } from './errors.ts'

/** Reads the denials of a tenant. @throws CommandError When none is recorded. */
export async function recordedDenials(limiter: Limiter, tenant: string): Promise<RecordedDenial[]> {
  const { listDenials } = await installed('@sluice/usage', () => import('@sluice/usage/denials'))
  const denials = await listDenials(limiter, tenant)
  if (denials.length > 0) return denials
  throw new CommandError(`no denial of ${nameText(tenant)} is recorded since yesterday (UTC)`)
}
