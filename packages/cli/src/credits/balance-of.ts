import { balance, type Balance } from '@sluice/core/credits'
import { fullSubject } from '@sluice/core/internal/operator'
import type { CreditsTask } from './task.ts'

/** Reads a balance, whatever else the limiter counts by. */
export const balanceOf = ({ limiter, subject, choice }: CreditsTask): Promise<Balance> =>
  balance(limiter, fullSubject(limiter, subject), choice)
