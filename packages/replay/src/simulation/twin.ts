import { invalidOption } from '@sluice/core/internal'
import type { Clock, Decision, PolicyRule, Plans } from '@sluice/core'
import type { Call } from '../call.ts'
import { createLimiter, InputError } from '@sluice/core'
import {
  applyConfiguration,
  runtimeConfiguration,
  type DesiredEntry,
  type Setting,
} from '@sluice/core/configuration'
import { memory } from '@sluice/core/memory'
import { countCommands } from './count-commands.ts'
import { createOpenings, type OpeningBalance } from './opening-balances.ts'
import { plansOf } from './policy-set.ts'
import { createCost } from './units-of-call.ts'

/** A limiter that decides calls of a log at their own times. */
export interface Twin {
  /** Decides, and charges what it allows. */
  check(call: Call, usd: number | undefined): Promise<Decision>
  /** Decides, and charges nothing. */
  peek(call: Call, usd: number | undefined): Promise<Decision>
  /** Returns the Redis commands that these decisions take at least, without reads of settings. */
  commands(): number
}

/** The most partitions that a replay counts at a time. */
export const MAX_PARTITIONS = 1_000_000

/**
 * Creates a limiter with these rules over the memory store, which decides as Redis does.
 *
 * @param opening The units that balances of credits begin with. @default 0
 * @throws ConfigError When the rules are invalid.
 */
export function createTwin(
  rules: readonly PolicyRule[],
  plans: Plans | undefined,
  configuration?: readonly DesiredEntry[],
  opening: OpeningBalance = 0,
): Twin {
  let now = 0
  const clock: Clock = () => now
  const { store, add, commands } = countCommands(memory({ maxKeys: MAX_PARTITIONS }))
  // Without settings, the extension would only cost time.
  const isConfigured =
    configuration !== undefined &&
    (configuration.length > 0 || rules.some(({ limit }) => limit === 'configured'))
  const extensions = isConfigured
    ? [runtimeConfiguration({ allow: allSettings(rules, configuration) })]
    : []
  const policies = [() => rules]
  const hasCredits = rules.some(({ balance }) => balance)
  const limiter = createLimiter({
    store,
    clock,
    policies,
    extensions,
    // As credits need it: memory does not fail.
    ...(hasCredits && { onStoreError: 'deny' as const }),
    ...plansOf(plans),
  })
  const openBalances = hasCredits ? createOpenings(limiter, rules, opening) : undefined
  // The first call waits for it and reports its failure. The others need not wait.
  let configured = isConfigured ? applyConfiguration(limiter, configuration) : undefined
  configured?.catch(() => {})
  const costOf = createCost(rules)
  const decide = async (
    method: 'check' | 'peek',
    call: Call,
    usd: number | undefined,
  ): Promise<Decision> => {
    if (configured) {
      await configured
      configured = undefined
    }
    now = call.at
    const cost = costOf(call, usd)
    try {
      if (openBalances) await openBalances(call)
      const decision = await limiter[method](subjectOf(call, plans), { cost })
      add(decision)
      return decision
    } catch (error) {
      throw error instanceof InputError ? inputFault(call, error) : error
    }
  }
  return {
    check: (call, usd) => decide('check', call, usd),
    peek: (call, usd) => decide('peek', call, usd),
    commands,
  }
}

/** Returns every setting that each policy can have. A calendar that may change counts otherwise than one that never does. */
const allSettings = (
  rules: readonly PolicyRule[],
  configuration: readonly DesiredEntry[],
): Readonly<Record<string, readonly Setting[]>> =>
  Object.fromEntries(
    rules
      .filter(({ follows }) => !follows)
      .map(({ name, burst }) => [
        name,
        [
          'limit',
          'mode',
          'enabled',
          'enforced',
          ...(burst === undefined ? [] : ['burst' as const]),
          ...CALENDAR.filter((setting) =>
            configuration.some(({ policy, settings }) => policy === name && setting in settings),
          ),
        ],
      ]),
  )

const CALENDAR = ['zone', 'anchor'] as const

/** A plan that is not defined means the default plan; the limiter would log each. */
function subjectOf({ subject }: Call, plans: Plans | undefined): Call['subject'] {
  if (subject.plan === undefined || !plans || plans.get(subject.plan)) return subject
  return { ...subject, plan: undefined }
}

function inputFault({ line }: Call, { code, input, reason }: InputError): Error {
  const dimension = input.replace('subject.', '')
  const remedy = code === 'missing_dimension' ? `; name its column: "${dimension}=…"` : ''
  return invalidOption('columns', `line ${line}: ${input} ${reason}${remedy}`)
}
