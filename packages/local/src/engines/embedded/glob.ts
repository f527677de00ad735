/** Matches one character of a pattern. `undefined` is a star. */
type Token = ((character: string) => boolean) | undefined

/**
 * Compiles a glob pattern of Redis: `*`, `?`, `[a-z]`, `[^a]`, and `\` before a literal character.
 *
 * The matcher backtracks to the last star only, so its time is at most proportional to the product
 * of both lengths. A regular expression would try the stars in all combinations.
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

/** Parses a set. Without a closing bracket it ends with the pattern. */
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

function range(from: string, to: string): (character: string) => boolean {
  const [first, last] = from < to ? [from, to] : [to, from]
  return (character) => character >= first && character <= last
}
