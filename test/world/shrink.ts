/* Makes a failing world small: fewer isolates, callers, faults and policies, as long as it fails alike. */
import { CALM } from './faults.ts'
import { isBeside, type Rule } from './judges/rules.ts'
import type { Setting } from './setting.ts'
import { World, type Outcome, type WorldOptions } from './world.ts'

/** A simpler setting, or none if there is nothing to take away. */
type Simplification = (setting: Setting) => Partial<Setting> | undefined

const calm =
  (part: keyof Setting['weather']): Simplification =>
  ({ weather }) =>
    weather[part] === CALM[part] ? undefined : { weather: { ...weather, [part]: CALM[part] } }

const without =
  (part: 'chooses' | 'configures' | 'looksUpPlans' | 'releases'): Simplification =>
  (setting) =>
    setting[part] ? { [part]: false } : undefined

const SIMPLIFICATIONS: readonly Simplification[] = [
  ({ deployments: [first, ...others] }) =>
    others.length > 0 && first ? { deployments: [first] } : undefined,
  ({ isolates }) => (isolates > 1 ? { isolates: 1 } : undefined),
  ({ isolates }) => (isolates > 2 ? { isolates: 2 } : undefined),
  ({ tenants }) => (tenants.length > 1 ? { tenants: tenants.slice(0, 1) } : undefined),
  ({ routes }) => (routes.length > 1 ? { routes: routes.slice(0, 1) } : undefined),
  ({ burst }) => (burst > 1 ? { burst: 1 } : undefined),
  calm('trouble'),
  calm('incidentMs'),
  calm('deathMs'),
  calm('skew'),
  without('chooses'),
  without('configures'),
  without('looksUpPlans'),
  without('releases'),
  ({ wrappers }) => (wrappers === 'plain' ? undefined : { wrappers: 'plain' }),
  // Each policy, or log of policies, by itself.
  ...[0, 1, 2, 3, 4, 5].map((place): Simplification => ({ deployments }) => {
    // A store with leases is refused without a policy that is leased.
    const rules = deployments.flatMap((app) => app.rules).filter(({ leaseMs }) => leaseMs === 0)
    const name = [...new Set(rules.map(nameOf))][place]
    if (name === undefined) return undefined
    const kept = deployments.map((deployment) => ({
      ...deployment,
      rules: deployment.rules.filter((rule) => nameOf(rule) !== name),
    }))
    return kept.every((deployment) => deployment.rules.length > 0)
      ? { deployments: kept }
      : undefined
  }),
]

/** The kind of a violation, without its numbers. */
const kindOf = ({ violations: [first = ''] }: Outcome): string =>
  first.replace(/^event \d+: /, '').replace(/\d+/g, 'n')

/** A small world that fails as the first one did. */
export interface Shrunk {
  readonly options: WorldOptions
  readonly outcome: Outcome
  /** The worlds that were tried. */
  readonly tried: number
}

/** Shrinks a world that has failed, by so many tries at most. */
export async function shrink(
  failed: Outcome,
  options: WorldOptions,
  most = Infinity,
): Promise<Shrunk> {
  const kind = kindOf(failed)
  let best: Shrunk = { options, outcome: failed, tried: 0 }
  let tried = 0
  const attempt = async (next: WorldOptions): Promise<boolean> => {
    if (tried === most) return false
    tried += 1
    const outcome = await World.run(failed.seed, next)
    if (outcome.violations.length === 0 || kindOf(outcome) !== kind) return false
    best = { options: next, outcome, tried }
    return true
  }
  for (let progress = true; progress;) {
    progress = false
    for (const simplify of SIMPLIFICATIONS) {
      const change = simplify(best.outcome.setting)
      if (change === undefined) continue
      const replace = { ...best.options.replace, ...change }
      if (await attempt({ ...best.options, replace })) progress = true
    }
    // The steps after the failure are not needed; perhaps not all before it either.
    const { decisions } = best.options
    for (const fewer of [decisions >> 1, (decisions * 3) >> 2]) {
      if (fewer > 0 && (await attempt({ ...best.options, decisions: fewer }))) {
        progress = true
        break
      }
    }
  }
  return { ...best, tried }
}

/** The name of a policy: of windows over one log, and of a limit and what stands beside it. */
const nameOf = (rule: Rule): string =>
  rule.log ?? (isBeside(rule) ? rule.name.replace(/\.(line|share)$/, '') : rule.name)
