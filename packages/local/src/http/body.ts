import type { IncomingMessage } from 'node:http'
import type { Arg, Command } from '../engines/engine.ts'
import { HttpError } from './http-error.ts'

const MAX_BODY_BYTES = 10 * 1024 * 1024
const PARSE_ERROR = 'ERR failed to parse command'

/** Reads a whole request body. @throws HttpError 413 above 10 MiB. */
export async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > MAX_BODY_BYTES) {
      throw new HttpError(413, `ERR max request size exceeded. Limit: ${MAX_BODY_BYTES} bytes`)
    }
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** Parses one command from a JSON array. @throws HttpError 400 when the body is anything else. */
export const parseCommand = (body: Buffer): Command => toCommand(parseJson(body))

/**
 * Parses commands from a JSON array of arrays.
 *
 * @throws HttpError 400 when the body is anything else.
 */
export function parseCommands(body: Buffer): Command[] {
  const rows = parseJson(body)
  if (!Array.isArray(rows)) throw new HttpError(400, 'ERR failed to parse pipeline request')
  if (rows.length === 0) throw new HttpError(400, 'ERR empty pipeline request')
  return rows.map(toCommand)
}

function toCommand(row: unknown): Command {
  if (!Array.isArray(row)) throw new HttpError(400, PARSE_ERROR)
  const [name, ...args] = row.map(toArg)
  if (typeof name !== 'string' || name === '') throw new HttpError(400, 'ERR empty command')
  return [name, ...args]
}

function toArg(value: unknown): Arg {
  if (typeof value === 'string') return value
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  throw new HttpError(400, PARSE_ERROR)
}

function parseJson(body: Buffer): unknown {
  if (body.length === 0) throw new HttpError(400, 'ERR empty request body')
  const text = body.toString()
  try {
    const value: unknown = JSON.parse(text)
    return /\d{16}/.test(text) ? JSON.parse(quoteNumbers(text)) : value
  } catch {
    throw new HttpError(400, PARSE_ERROR)
  }
}

/** Quotes the numbers in a JSON text, so that long ones reach Redis digit for digit. */
const quoteNumbers = (json: string): string =>
  json.replace(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g, (literal) =>
    literal.startsWith('"') ? literal : `"${literal}"`,
  )
