const QUOTE = 34
const COMMA = 44
const BACKSLASH = 92

/** Counts the messages of a JSON-RPC body as its bytes come. It is not parsed: that takes far more than to read it. */
export interface MessageScan {
  push(chunk: Uint8Array): void
  /** Returns the messages so far: 1, or the items of a list. */
  count(): number
}

/** Creates a scan. Of a body that is not valid JSON, the number has no meaning. */
export function createMessageScan(): MessageScan {
  let depth = 0
  let commas = 0
  let isBatch = false
  let inString = false
  let isEscaped = false

  return {
    push(chunk) {
      // In UTF-8 no byte of a longer character is one of ASCII.
      for (const byte of chunk) {
        if (inString) {
          if (isEscaped) isEscaped = false
          else if (byte === BACKSLASH) isEscaped = true
          else if (byte === QUOTE) inString = false
        } else if (byte === QUOTE) inString = true
        else if (byte === COMMA) commas += depth === 1 ? 1 : 0
        else if (byte === 91 || byte === 123) {
          if (depth === 0) isBatch = byte === 91
          depth += 1
        } else if (byte === 93 || byte === 125) depth -= 1
      }
    },
    count: () => (isBatch ? commas + 1 : 1),
  }
}
