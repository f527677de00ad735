import { basename } from 'node:path'
import type { Prices } from '@sluice/ai'
import type { Limiter, Plans, Policy } from '@sluice/core'
import type { PolicySet } from '@sluice/replay'
import { refuse } from '../errors.ts'
import { loadLimits } from '../load-limiter.ts'

interface LimitsModule {
  readonly limiter?: Pick<Limiter, 'check'>
  readonly policies?: readonly Policy[]
  readonly plans?: Plans
  readonly prices?: Prices
  readonly default?: unknown
}

/**
 * Loads the limits of a file: its export `limiter`, or `policies` and `plans`, or a default export of either.
 *
 * @param path The file. @default the first that exists of the usual ones
 * @param option The option that names it, for errors.
 * @throws CommandError When the file cannot be loaded, or exports no limits.
 */
export async function loadPolicies(
  folder: string,
  path: string | undefined,
  option: string,
): Promise<PolicySet> {
  const { policySet } = await import('@sluice/replay')
  const { file, exported } = await loadLimits(folder, path, option)
  const { limiter, policies, plans, prices } = pickExports(exported)
  if (limiter) return policySet(basename(file), { limiter, prices })
  if (policies) return policySet(basename(file), { policies, plans, prices })
  const names = Object.keys(exported).join(', ') || 'nothing'
  return refuse(`${file} must export "limiter" or "policies"; it exports ${names}`)
}

function pickExports(exported: LimitsModule): LimitsModule {
  const { default: own } = exported
  if (Array.isArray(own)) return { ...exported, policies: own as Policy[] }
  if (typeof own !== 'object' || own === null) return exported
  if ('check' in own) return { ...exported, limiter: own as Limiter }
  return { ...(own as LimitsModule), ...exported }
}
