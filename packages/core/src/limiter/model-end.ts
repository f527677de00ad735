import { runtimeOf } from './runtime.ts'

/** The time before the end of a model from which on it is reported: 120 days. */
const NOTICE_MS = 120 * 86_400_000

/** The models whose end was reported. Tables list them, so they are few. */
const reported = new Set<string>()

/**
 * Reports that the vendor of a model shuts it down within 120 days, or has done so. Once a process and model.
 *
 * @param model The name that the model is listed under.
 * @param prices The listed models, with the day on which one ends, such as `2027-01-14`.
 * @throws ConfigError When `createLimiter` did not create `limiter`.
 */
export function reportModelEnd(
  limiter: object,
  model: string,
  prices: { readonly get: (model: string) => { readonly endsOn?: string } | undefined } | undefined,
): void {
  const endsOn = prices?.get(model)?.endsOn
  if (endsOn === undefined || reported.has(model)) return
  const { clock, events } = runtimeOf(limiter)
  if (Date.parse(endsOn) - clock() >= NOTICE_MS) return
  reported.add(model)
  const message = `The vendor of ${model} shuts it down on ${endsOn}: call another model`
  events.problem({ code: 'model_ends', message })
}
