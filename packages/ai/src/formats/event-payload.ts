import type { AnswerDecoder } from './format.ts'

export function textDecoder(): AnswerDecoder {
  const text = new TextDecoder()
  return (chunk) => text.decode(chunk, { stream: chunk !== undefined })
}

/** Decodes the member `bytes` of a JSON object, which is base64. */
export function bytesMember(): AnswerDecoder {
  const json = textDecoder()
  const text = textDecoder()
  let before = ''
  let base64 = ''
  let part: 'before' | 'within' | 'after' = 'before'
  return (chunk) => {
    let rest = json(chunk)
    if (part === 'after') return ''
    if (part === 'before') {
      before += rest
      const start = /"bytes"\s*:\s*"/.exec(before)
      if (start === null) {
        // The end may be the beginning of its name.
        before = before.slice(-32)
        return ''
      }
      part = 'within'
      rest = before.slice(start.index + start[0].length)
    }
    const end = rest.indexOf('"')
    if (end >= 0) part = 'after'
    base64 += end < 0 ? rest : rest.slice(0, end)
    const whole = base64.slice(0, base64.length - (base64.length % 4))
    base64 = base64.slice(whole.length)
    return text(fromBase64(whole))
  }
}

/** The bytes of base64. Invalid text stays as it is, to be counted. */
function fromBase64(base64: string): Uint8Array {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
  } catch {
    return new TextEncoder().encode(base64)
  }
}
