/** One character of a pattern; `undefined` stands for a star. */
type Token = ((character: string) => boolean) | undefined

/**
 * A matcher for Redis's glob patterns: `*`, `?`, `[a-z]`, `[^a]` and `\` to take one literally.
 *
 * It goes back to the last star only, so the time grows with the product of the two lengths at most. A
 * regular expression would try the stars in all combinations.
 */
export function globMatcher(pattern: string): (text: string) => boolean {
  const tokens = parse(pattern)
  return (text) => {
    let token = 0
    let index = 0
    let starToken = -1
    let starIndex = 0
    while (index < text.length) {
      const matches = tokens[token]
      if (token < tokens.length && matches === undefined) {
        starToken = token
        starIndex = index
        token += 1
      } else if (matches?.(text.charAt(index))) {
        token += 1
        index += 1
      } else if (starToken >= 0) {
        starIndex += 1
        index = starIndex
        token = starToken + 1
      } else return false
    }
    return tokens.slice(token).every((rest) => rest === undefined)
  }
}

function parse(pattern: string): Token[] {
  const tokens: Token[] = []
  let index = 0
  while (index < pattern.length) {
    const character = pattern.charAt(index)
    if (character === '[') {
      const set = parseSet(pattern, index + 1)
      tokens.push(set.matches)
      index = set.end
      continue
    }
    const isEscape = character === '\\' && index + 1 < pattern.length
    if (isEscape) index += 1
    if (character === '*') tokens.push(undefined)
    else if (character === '?') tokens.push(() => true)
    else tokens.push(literal(pattern.charAt(index)))
    index += 1
  }
  return tokens
}

/** A set without its closing bracket reaches to the end of the pattern. */
function parseSet(pattern: string, start: number): { matches: Token; end: number } {
  const isNegated = pattern.charAt(start) === '^'
  const members: ((character: string) => boolean)[] = []
  let index = isNegated ? start + 1 : start
  while (index < pattern.length && pattern.charAt(index) !== ']') {
    if (pattern.charAt(index) === '\\' && index + 1 < pattern.length) {
      members.push(literal(pattern.charAt(index + 1)))
      index += 2
    } else if (pattern.charAt(index + 1) === '-' && index + 2 < pattern.length) {
      members.push(range(pattern.charAt(index), pattern.charAt(index + 2)))
      index += 3
    } else {
      members.push(literal(pattern.charAt(index)))
      index += 1
    }
  }
  const matches = (character: string): boolean =>
    members.some((member) => member(character)) !== isNegated
  return { matches, end: index + 1 }
}

const literal = (expected: string) => (character: string) => character === expected

function range(one: string, other: string): (character: string) => boolean {
  const [first, last] = one < other ? [one, other] : [other, one]
  return (character) => character >= first && character <= last
}
