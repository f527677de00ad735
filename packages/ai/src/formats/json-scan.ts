import { type Json } from '../json.ts'
import { parseJson } from '@sluice/core/internal/limiter'

/** A value longer than this is not kept. */
const MAX_KEPT = 16_384

/** Longer than any name that is looked for. */
const MAX_NAME = 64

/** Members that lie deeper are not found. */
const MAX_DEPTH = 4

/** The name of an item of a list. */
const LIST = '*'

const QUOTE = 34
const COMMA = 44
const COLON = 58
const BACKSLASH = 92

/** Finds where JSON that comes in pieces ends, and the members that are looked for, without keeping it. */
export interface JsonScan {
  /** Returns where the value ends, if it does so in this text. */
  push(text: string): number | undefined
  /** The members that have been found, each at its path. */
  readonly found: Json
}

/**
 * Scans JSON. Text inside of strings is never mistaken for a member.
 *
 * @param wanted The paths of the members to find, such as `response.usage`; an item of a list is `*`.
 */
export function jsonScan(wanted?: ReadonlySet<string>): JsonScan {
  const found: Record<string, unknown> = {}
  let depth = 0
  let inString = false
  let escaped = false
  let nameNext = false
  let inLiteral = false
  /** The names of the members that are being read, or `*` in a list. */
  const names: string[] = []
  /** The part of the current name or value that is kept. */
  let kept: string | undefined
  let keptDepth = 0

  const path = (): string[] => names.slice(1, depth + 1)

  /** Puts the value at its path, and makes the objects on the way. */
  function place(value: unknown): void {
    let object: Record<string, unknown> = found
    path().forEach((name, index) => {
      object = (object[name] = index + 1 < depth ? (object[name] ?? {}) : value) as typeof found
    })
  }

  function push(text: string): number | undefined {
    let from = 0
    /** Keeps what begins at `index`, if it is a name or wanted. */
    const begin = (index: number): void => {
      if (wanted === undefined || kept !== undefined || depth > MAX_DEPTH) return
      if (names[depth] === LIST) return
      if (!nameNext && !wanted.has(path().join('.'))) return
      kept = ''
      keptDepth = depth
      from = index
    }
    /** Ends before `index` the value that began at this depth. */
    const finish = (index: number): void => {
      inLiteral = false
      if (kept === undefined || depth !== keptDepth) return
      const json = kept + text.slice(from, index)
      kept = undefined
      if (nameNext) names[depth] = json[MAX_NAME] ? '' : json.slice(1, -1)
      else if (json.length <= MAX_KEPT) place(parseJson(json))
      nameNext = false
    }
    for (let index = 0; index < text.length; index += 1) {
      const code = text.charCodeAt(index)
      if (inString) {
        if (escaped) escaped = false
        else if (code === BACKSLASH) escaped = true
        else if (code === QUOTE) {
          inString = false
          finish(index + 1)
        }
      } else if (code === QUOTE) {
        inString = true
        begin(index)
      } else if (code === 123 || code === 91) {
        begin(index)
        depth += 1
        nameNext = code === 123
        if (depth <= MAX_DEPTH) names[depth] = nameNext ? '' : LIST
      } else if (code === 125 || code === 93) {
        // A number or a literal may end here, and then what it lies in.
        finish(index)
        depth -= 1
        nameNext = false
        finish(index + 1)
        if (depth === 0) return index + 1
      } else if (code === COMMA) {
        finish(index)
        nameNext = names[depth] !== LIST
      } else if (code > 32 && code !== COLON && !nameNext && !inLiteral) {
        inLiteral = true
        begin(index)
      }
    }
    // One that is too long already stays as it is.
    if (kept !== undefined && kept.length <= MAX_KEPT) kept += text.slice(from)
    return undefined
  }

  return { push, found }
}
