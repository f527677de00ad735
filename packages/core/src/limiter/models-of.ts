import type { Decision } from '../decision.ts'
import type { Subject } from '../subject.ts'

/**
 * Returns the model that a call with choices was asked for, and the one that was charged, if any. Nothing without choices.
 * After a failure the subject names the model asked for, which is none of the choices any more.
 */
export function modelsOf(
  { allowed, tried: [first] = [] }: Pick<Decision, 'allowed' | 'tried'>,
  { askedModel: asked = first?.subject['model'], model }: Subject,
): readonly (string | undefined)[] {
  return asked ? [asked, allowed ? model : undefined] : []
}
