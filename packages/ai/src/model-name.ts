const withoutVendor = (model: string): string =>
  model.toLowerCase().replace(/^(.*\/)?(openai|anthropic)\//, '')

/**
 * The name without what does not change the model: case, the vendor's name as a prefix (`openai/`, also
 * after a gateway's), and the date of a snapshot at the end, or `-latest` of OpenAI's and Anthropic's. Anything
 * else stays, so that no variant passes for the model it derives from.
 *
 * @example
 * baseName('openrouter/anthropic/claude-3-5-sonnet-20241022') // 'claude-3-5-sonnet'
 */
export const baseName = (model: string): string =>
  withoutVendor(model).replace(/-(\d{4}(-?\d\d){2}|(?<=^(gpt|claude).*)latest)$/, '')

/** Returns the names that a model may be listed under, the most exact first. */
export function spellingsOf(model: string): string[] {
  const base = baseName(model)
  // Gateways write the version of a Claude model with a dot, and some write it before the family.
  const dashed = base.startsWith('claude-') ? base.replaceAll('.', '-') : base
  const ordered = dashed.replace(/^claude-([\d-]+)-([a-z]+)$/, 'claude-$2-$1')
  return [model.toLowerCase(), withoutVendor(model), base, dashed, ordered]
}

/** Returns true if `name` is that of the model, or of one of its dated snapshots. */
export const isNamed = (name: string, model: string): boolean =>
  name.startsWith(model) && /^(-\d{4}(-?\d\d){2})?$/.test(name.slice(model.length))

/** Returns true if `name` is one of Anthropic's models, wherever it runs. */
export const isClaude = (model: string | undefined): boolean => /claude/i.test(model ?? '')
