import { CommandError, type Reply } from '../engines/engine.ts'

const OK = Buffer.from('OK')

/** The encodings that a client can request for the strings of a result. */
export type Encoding = 'utf8' | 'base64'

/** Returns the JSON text of `{ result }` or `{ error }`. Integers of any size are exact. */
export function replyJson(reply: Reply, encoding: Encoding): string {
  if (reply instanceof CommandError) return errorJson(reply.message)
  // Clients do not decode a single OK. They decode all other strings, and an OK inside an array.
  const isOk = Buffer.isBuffer(reply) && reply.equals(OK)
  return `{"result":${isOk ? '"OK"' : valueJson(reply, encoding)}}`
}

export const errorJson = (message: string): string => JSON.stringify({ error: message })

function valueJson(reply: Reply, encoding: Encoding): string {
  if (reply === null) return 'null'
  if (Buffer.isBuffer(reply)) return JSON.stringify(reply.toString(encoding))
  if (reply instanceof CommandError) return valueJson(Buffer.from(reply.message), encoding)
  if (typeof reply === 'object') return `[${reply.map((item) => valueJson(item, encoding)).join()}]`
  return String(reply)
}
