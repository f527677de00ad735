/** Vendors whose names a gateway writes before the model's: at the vendor's own price. */
const VENDORS: ReadonlySet<string> = /* @__PURE__ */ new Set(['openai', 'anthropic'])

/**
 * The name without what does not change the model: case, the vendor's name as a prefix (`openai/`, also
 * after a gateway's), and the date of a snapshot or `-latest` at the end. Anything else stays, so that
 * no variant passes for the model it derives from.
 *
 * @example
 * baseName('openrouter/anthropic/claude-3-5-sonnet-20241022') // 'claude-3-5-sonnet'
 */
export function baseName(model: string): string {
  return undated(unprefixed(model))
}

/** The names that a price may be listed under, the most exact first. */
export function candidateNames(model: string): readonly string[] {
  const name = unprefixed(model)
  const base = undated(name)
  // Gateways write the version of a Claude model with a dot.
  const dashed = base.startsWith('claude-') ? base.replaceAll('.', '-') : base
  // Some write the family after the version.
  const family = dashed.replace(/^claude-(\d+(?:-\d+)?)-([a-z]+)$/, 'claude-$2-$1')
  return [model.toLowerCase(), name, base, dashed, family]
}

/** Returns true if `name` is one of Anthropic's models, wherever it runs. */
export function isClaude(model: string | undefined): boolean {
  return model !== undefined && model.toLowerCase().includes('claude')
}

function unprefixed(model: string): string {
  const parts = model.toLowerCase().split('/')
  const name = parts.pop() ?? ''
  const vendor = parts.pop()
  return vendor === undefined || VENDORS.has(vendor) ? name : model.toLowerCase()
}

function undated(name: string): string {
  return name.replace(/-(?:\d{4}-\d{2}-\d{2}|\d{8}|latest)$/, '')
}
