import {
  defineExtension,
  definePlans,
  fixedWindow,
  type ExtensionHooks,
  type ExtensionContext,
  type Limiter,
  type LimiterOptions,
  type Problem,
} from '@sluice/core'
import { setUp, type SetUpOptions, collectProblems } from '../../support/limiters.ts'

export const plans = definePlans({ starter: { rpm: 2 }, growth: { rpm: 5 } })

export const rpm = fixedWindow({
  name: 'rpm',
  limit: ({ plan }) => plan['rpm'],
  window: '1h',
  per: ['tenant'],
})

/** A limiter with an extension of your own, and the problems that it reports. */
export function setUpExtension(
  connect: (context: ExtensionContext) => ExtensionHooks,
  {
    policies = [rpm],
    extensions = [],
    ...options
  }: SetUpOptions & Pick<Partial<LimiterOptions>, 'policies'> = {},
): { limiter: Limiter; problems: Problem[] } {
  const { problems, listener } = collectProblems()
  const own = defineExtension({ name: 'own', connect })
  const { limiter } = setUp(policies, {
    plans,
    ...options,
    extensions: [own, listener, ...extensions],
  })
  return { limiter, problems }
}
