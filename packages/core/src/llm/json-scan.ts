/** A value longer than this is not kept. */
const MAX_VALUE = 16_384
/** A name longer than this is none that is looked for. */
const MAX_NAME = 32

const QUOTE = 34
const COMMA = 44
const BACKSLASH = 92

export interface JsonScan {
  push(text: string): void
  /** Whether the text so far is a whole value. */
  readonly whole: boolean
}

/**
 * Finds members of a JSON object that comes in pieces, without keeping it: those that are objects or
 * strings and lie directly in it or in one of its members. Text inside of strings is never taken for one.
 *
 * @param wanted Whether a member is to be found; `parent` is the name of the member that it lies in.
 * @param found Gets its name and its JSON.
 */
export function jsonScan(
  wanted: (name: string, parent: string | undefined) => boolean,
  found: (name: string, json: string) => void,
): JsonScan {
  let depth = 0
  let began = false
  let inString = false
  let escaped = false
  let nameNext = false
  let inName = false
  /** The names of the members that are being read, and whether what they lie in is an object. */
  const names = ['', '', '']
  const objects = [false, false, false]
  let value: string | undefined
  let valueDepth = 0

  /** Starts keeping the value that begins here, if it is wanted. */
  function begin(): void {
    if (value !== undefined || depth < 1 || depth > 2 || !objects[depth]) return
    const name = names[depth] ?? ''
    if (!wanted(name, depth === 2 ? names[1] : undefined)) return
    value = ''
    valueDepth = depth
  }

  function push(text: string): void {
    let from = value === undefined ? -1 : 0
    /** Ends the value with the character at `index`. */
    const finish = (index: number): void => {
      const json = value + text.slice(from, index + 1)
      value = undefined
      from = -1
      if (json.length <= MAX_VALUE) found(names[valueDepth] ?? '', json)
    }
    for (let index = 0; index < text.length; index += 1) {
      const code = text.charCodeAt(index)
      if (inString) {
        if (escaped) escaped = false
        else if (code === BACKSLASH) escaped = true
        else if (code === QUOTE) {
          inString = false
          if (inName) inName = false
          else if (value !== undefined && depth === valueDepth) finish(index)
          continue
        }
        if (inName && (names[depth]?.length ?? 0) <= MAX_NAME) names[depth] += text.charAt(index)
      } else if (code === QUOTE) {
        inString = true
        if (nameNext && depth <= 2) {
          nameNext = false
          inName = true
          names[depth] = ''
        } else {
          begin()
          if (value !== undefined && from < 0) from = index
        }
      } else if (code === 123 || code === 91) {
        begin()
        if (value !== undefined && from < 0) from = index
        began = true
        depth += 1
        if (depth <= 2) {
          objects[depth] = nameNext = code === 123
          names[depth] = ''
        }
      } else if (code === 125 || code === 93) {
        depth -= 1
        nameNext = false
        if (value !== undefined && depth === valueDepth) finish(index)
      } else if (code === COMMA) nameNext = depth <= 2 && objects[depth] === true
    }
    if (value !== undefined) {
      value += text.slice(Math.max(0, from))
      // Kept only to know that it was too long.
      if (value.length > MAX_VALUE) value = value.slice(0, MAX_VALUE) + ' '
    }
  }

  return {
    push,
    get whole() {
      return began && depth === 0
    },
  }
}
