import { invalidBody } from '../estimate/invalid-body.ts'
import { objectOf, objectsIn } from '../json.ts'
import type { Inspect } from '../estimate/request-input.ts'
import { isCallersTool } from './api.ts'

/** The parts of the options that allow input that is not in the body. */
export interface HiddenTerms {
  readonly unseenTokens?: number
  readonly allowFields?: readonly string[]
}

/** Returns a function that refuses sound, input that only the provider sees, and tools among the messages that it runs. */
export function hiddenInput({ unseenTokens, allowFields }: HiddenTerms): Inspect {
  return (part, reference) => {
    if (reference !== undefined && unseenTokens === undefined) {
      const message = /audio|video/.test(reference)
        ? 'is sound, whose tokens may cost more: leave it out'
        : 'names input that only the provider has: send it'
      throw invalidBody(`${message}, or set the option unseenTokens`, reference)
    }
    const tools = [...objectsIn(part['tools']), objectOf(part['definition'])]
    if (tools.every(isCallersTool) || allowFields?.includes('tools') === true) return
    const message = 'has a tool among the messages that may cost more than tokens'
    throw invalidBody(message, 'tools')
  }
}
