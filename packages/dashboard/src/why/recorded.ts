import { ConfigError, type Limiter } from '@sluice/core'
import { denialText, readDenial } from '@sluice/usage/denials'

/** Returns the decision of a recorded denial as text, whichever limiter has recorded it. */
export async function recordedText(
  limiters: ReadonlyMap<string, Limiter>,
  tenant: string,
  id: string,
  by: string,
): Promise<string> {
  const without: string[] = []
  for (const [name, limiter] of limiters) {
    try {
      const denial = await readDenial(limiter, tenant, id)
      if (denial) return denialText(tenant, id, denial, by)
    } catch (error) {
      if (!(error instanceof ConfigError && error.option === 'limiter')) throw error
      without.push(name)
    }
  }
  return [
    ...(without.length < limiters.size ? [denialText(tenant, id, undefined)] : []),
    ...(without.length > 0 ? [`${without.join(', ')}: ${HOW_TO_RECORD}`] : []),
  ].join('\n')
}

const HOW_TO_RECORD =
  'denials are not recorded. Add recordDenials() of @sluice/usage/denials to the extensions of the limiter, and onDenied: denialId() to its adapter. Then the X-Request-Id of a 429 leads to its decision, for a day.'
