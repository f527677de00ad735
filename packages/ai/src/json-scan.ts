/** A name or a value longer than this is not kept. */
const MAX_KEPT = 16_384

const QUOTE = 34
const COMMA = 44
const BACKSLASH = 92

export interface JsonScan {
  /** Returns where the value ends, if it does so in this text. */
  push(text: string): number | undefined
}

/** The members that are looked for. */
const WANTED = /^"(?:usage|model|type)"$/

/**
 * Finds where JSON that comes in pieces ends, without keeping it, and what it tells of itself: its `usage`,
 * `model` and `type`, or those of the `response` in it, be they objects or strings. Text inside of strings is
 * never taken for one.
 *
 * @param found Gets the name and the value of each, as JSON.
 */
export function jsonScan(found?: (name: string, value: string) => void): JsonScan {
  let depth = 0
  let inString = false
  let escaped = false
  let nameNext = false
  /** The names of the members that are being read, and whether what they lie in is an object. */
  const names = ['', '', '']
  const objects = [false, false, false]
  /** The part of the current name or value that is kept. */
  let kept: string | undefined
  let keptDepth = 0

  function push(text: string): number | undefined {
    let from = 0
    /** Keeps what begins at `index`, if it is a name or wanted. */
    const begin = (index: number): void => {
      if (found === undefined || kept !== undefined || objects[depth] !== true) return
      const isWanted = WANTED.test(names[depth] ?? '') && (depth < 2 || names[1] === '"response"')
      if (!nameNext && !isWanted) return
      kept = ''
      keptDepth = depth
      from = index
    }
    /** Ends at `index` the value that began at this depth. */
    const finish = (index: number): void => {
      if (kept === undefined || depth !== keptDepth) return
      const json = kept + text.slice(from, index + 1)
      kept = undefined
      if (nameNext) names[depth] = json
      else if (json.length <= MAX_KEPT) found?.(names[depth] ?? '', json)
      nameNext = false
    }
    for (let index = 0; index < text.length; index += 1) {
      const code = text.charCodeAt(index)
      if (inString) {
        if (escaped) escaped = false
        else if (code === BACKSLASH) escaped = true
        else if (code === QUOTE) {
          inString = false
          finish(index)
        }
      } else if (code === QUOTE) {
        inString = true
        begin(index)
      } else if (code === 123 || code === 91) {
        begin(index)
        depth += 1
        nameNext = code === 123
        if (depth <= 2) {
          objects[depth] = nameNext
          names[depth] = ''
        }
      } else if (code === 125 || code === 93) {
        depth -= 1
        nameNext = false
        finish(index)
        if (depth === 0) return index + 1
      } else if (code === COMMA) nameNext = objects[depth] === true
    }
    if (kept !== undefined) {
      kept += text.slice(from)
      // Kept only to know that it was too long.
      if (kept.length > MAX_KEPT) kept = kept.slice(0, MAX_KEPT) + ' '
    }
    return undefined
  }

  return { push }
}
