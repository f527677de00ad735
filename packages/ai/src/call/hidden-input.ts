import { invalidBody } from '../estimate/invalid-body.ts'
import { objectsIn } from '../json.ts'
import type { Inspect } from '../estimate/request-input.ts'
import { isCallersTool } from './api.ts'

/** The parts of the options that allow input that is not in the body. */
export interface HiddenTerms {
  readonly unseenTokens?: number
  readonly allowFields?: readonly string[]
}

/** The error of a field that costs more than tokens, or may. */
export const uncounted = (field: string): Error =>
  invalidBody(
    'may cost more than the tokens that are counted: leave it out, or allow it with allowFields',
    field,
  )

/** Returns a function that refuses sound, input that only the provider sees, and tools among the messages that it runs. */
export function hiddenInput({ unseenTokens, allowFields }: HiddenTerms): Inspect {
  return (part, reference) => {
    if (reference !== undefined && unseenTokens === undefined) {
      const item = JSON.stringify(part['id'] ?? reference).slice(0, 64)
      const message = /audio|video/.test(reference)
        ? 'is sound, whose tokens may cost more: leave it out'
        : `names input that only the provider has, ${item}: send it (items by store: false and include: ['reasoning.encrypted_content'])`
      throw invalidBody(`${message}, or set the option unseenTokens`, reference)
    }
    const tools = [...objectsIn(part['tools']), ...objectsIn([part['definition']])]
    if (tools.every(isCallersTool) || allowFields?.includes('tools')) return
    throw uncounted('tools')
  }
}
