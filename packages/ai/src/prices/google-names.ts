import { spellingsOf } from '../model-name.ts'

/**
 * Returns the names that the price of a model of the Gemini API or of Vertex AI may be listed under, the most exact
 * first: without what stands before its name, such as `models/` or `google/`, and without Vertex AI's version of a
 * Claude model.
 *
 * @example
 * googleNames('claude-haiku-4-5@20251001') // [..., 'claude-haiku-4-5']
 */
export function googleNames(model: string): string[] {
  const name = model.toLowerCase()
  const own = name.replace(/^(?:.*\/)?(?:google|models)\//, '').replace(/@(?:\d{8}|default)$/, '')
  return [name, ...spellingsOf(own)]
}
