import { existsSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Policy, Limiter, Plans } from '@sluice/core'
import type { Prices } from '@sluice/ai'
import type { PolicySet } from '../simulation/policy-set.ts'
import { optionError } from '../option-error.ts'
import { policySet } from '../simulation/policy-set.ts'

/** The exports of a file of limits that a replay reads. */
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
 * @param option The option that names the file, for errors.
 * @throws ConfigError When the file cannot be loaded, or exports no limits.
 */
export async function loadLimits(option: string, path: string): Promise<PolicySet> {
  const file = resolve(path)
  if (!existsSync(file)) throw optionError(option, 'must be a file', path)
  const exported = await importFile(option, file)
  const { limiter, policies, plans, prices } = pickExports(exported)
  if (limiter) return policySet(basename(path), { limiter, prices })
  if (policies) return policySet(basename(path), { policies, plans, prices })
  const names = Object.keys(exported).join(', ') || 'nothing'
  throw optionError(option, `must export "limiter" or "policies"; ${path} exports ${names}`)
}

const REMEDY =
  'does not load: use Node.js 22.18 or later, or compile it to JavaScript and name that file'

async function importFile(option: string, file: string): Promise<LimitsModule> {
  try {
    return (await import(pathToFileURL(file).href)) as LimitsModule
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_UNKNOWN_FILE_EXTENSION') {
      throw optionError(option, `is TypeScript, which Node.js ${process.version} ${REMEDY}`)
    }
    throw optionError(
      option,
      `cannot be loaded: ${error instanceof Error ? error.message : String(error)}`,
    )
  }
}

function pickExports(exported: LimitsModule): LimitsModule {
  const { default: own } = exported
  if (Array.isArray(own)) return { ...exported, policies: own as Policy[] }
  if (typeof own !== 'object' || own === null) return exported
  if ('check' in own) return { ...exported, limiter: own as Limiter }
  return { ...(own as LimitsModule), ...exported }
}
