/** A matcher for Redis's glob patterns: `*`, `?`, `[a-z]`, `[^a]` and `\` to take one literally. */
export function globMatcher(pattern: string): (text: string) => boolean {
  if (pattern === '*') return () => true
  const source = pattern.replace(/\\(.)|\[(\^?)((?:\\.|[^\]])*)\]|[*?]|[^\w]/gs, glob)
  const expression = new RegExp(`^${source}$`, 's')
  return (text) => expression.test(text)
}

function glob(found: string, escaped?: string, negation?: string, set?: string): string {
  if (escaped !== undefined) return literal(escaped)
  if (set !== undefined) {
    const members = set.replace(/\\(.)|[[\]^\\]/gs, (part, taken?: string) =>
      literal(taken ?? part),
    )
    if (members === '') return negation ? '.' : '(?!)'
    return `[${negation ?? ''}${members}]`
  }
  if (found === '*') return '.*'
  return found === '?' ? '.' : literal(found)
}

function literal(character: string): string {
  return character.replace(/[^\w\s]/, '\\$&')
}
