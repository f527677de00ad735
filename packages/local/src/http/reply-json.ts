import { CommandError } from '../engines/engine.ts'
import type { Reply } from '../engines/engine.ts'

const OK = Buffer.from('OK')

/** The encodings of strings in a result a caller can ask for. */
export type Encoding = 'utf8' | 'base64'

/** The JSON text of `{ result }` or `{ error }`, with integers of any size exact. */
export function replyJson(reply: Reply, encoding: Encoding): string {
  if (reply instanceof CommandError) return errorJson(reply.message)
  // Clients take a bare OK as it is and decode everything else; inside an array they decode all.
  const isOk = Buffer.isBuffer(reply) && reply.equals(OK)
  return `{"result":${isOk ? '"OK"' : valueJson(reply, encoding)}}`
}

/** The JSON text of `{ error }`. */
export function errorJson(message: string): string {
  return JSON.stringify({ error: message })
}

function valueJson(reply: Reply, encoding: Encoding): string {
  if (reply === null) return 'null'
  if (Buffer.isBuffer(reply)) return JSON.stringify(reply.toString(encoding))
  if (reply instanceof CommandError) return valueJson(Buffer.from(reply.message), encoding)
  if (typeof reply === 'object') return `[${reply.map((item) => valueJson(item, encoding)).join()}]`
  return String(reply)
}
