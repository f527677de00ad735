import type { IncomingMessage } from 'node:http'
import { CommandError, EngineDownError } from '../engines/engine.ts'
import type { Command, Engine, Reply } from '../engines/engine.ts'
import { bearerAuth } from './auth.ts'
import { parseCommand, parseCommands, readBody } from './body.ts'
import { refuseCommand } from './refuse-command.ts'
import { HttpError } from './http-error.ts'
import { originCheck } from './origin.ts'
import { commandFromPath } from './path-command.ts'
import { errorJson, replyJson, type Encoding } from './reply-json.ts'

const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT'])

export interface Answer {
  status: number
  json: string
}

/** The token that a request needs, and the host names that it may use. */
interface Access {
  readonly token: string
  readonly host: string
  readonly allowedHosts: readonly string[]
}

/** Creates a handler of HTTP requests in the Upstash REST protocol. The handler never rejects. */
export function restHandler(
  engine: Engine,
  { token, host, allowedHosts }: Access,
): (request: IncomingMessage) => Promise<Answer> {
  const checkOrigin = originCheck(host, allowedHosts)
  const authorize = bearerAuth(token)
  return async (request) => {
    try {
      const url = toUrl(request.url)
      checkOrigin(request, url.searchParams)
      authorize(request, url.searchParams)
      return await route(engine, request, url)
    } catch (error) {
      return errorResponse(error)
    }
  }
}

function toUrl(target: string | undefined): URL {
  // A target that is no path belongs to a proxy or to `OPTIONS *`.
  return new URL(`http://local${target?.startsWith('/') ? target : '/'}`)
}

async function route(engine: Engine, request: IncomingMessage, url: URL): Promise<Answer> {
  const method = request.method ?? 'GET'
  if (!METHODS.has(method)) throw new HttpError(405, 'ERR method not allowed')
  if ((request.headers['upstash-response-format'] ?? 'json') !== 'json') {
    throw new HttpError(400, 'ERR the only Upstash-Response-Format of this server is json')
  }
  const encoding = request.headers['upstash-encoding'] === 'base64' ? 'base64' : 'utf8'
  const body = await readBody(request)
  switch (url.pathname) {
    case '/pipeline':
      return runPipeline(engine, parseCommands(body), encoding)
    case '/multi-exec':
      return runTransaction(engine, parseCommands(body), encoding)
    case '/':
      return runCommand(engine, parseCommand(body), encoding)
    default:
      return runCommand(engine, commandFromPath(url, body), encoding)
  }
}

async function runCommand(engine: Engine, command: Command, encoding: Encoding): Promise<Answer> {
  const reply = refuseCommand(command) ?? (await engine.execute(command))
  return { status: reply instanceof CommandError ? 400 : 200, json: replyJson(reply, encoding) }
}

async function runPipeline(
  engine: Engine,
  commands: Command[],
  encoding: Encoding,
): Promise<Answer> {
  const outcomes = await Promise.allSettled(
    commands.map(async (command) => refuseCommand(command) ?? (await engine.execute(command))),
  )
  const failed = outcomes.filter((outcome) => outcome.status === 'rejected')
  if (failed.length === outcomes.length && failed[0]) throw failed[0].reason
  const items = outcomes.map((outcome) =>
    outcome.status === 'fulfilled'
      ? replyJson(outcome.value, encoding)
      : errorResponse(outcome.reason).json,
  )
  return { status: 200, json: `[${items.join()}]` }
}

async function runTransaction(
  engine: Engine,
  commands: Command[],
  encoding: Encoding,
): Promise<Answer> {
  const refusal = commands.map(refuseCommand).find((error) => error !== undefined)
  const replies: readonly Reply[] | CommandError = refusal
    ? new CommandError(`EXECABORT Transaction discarded because of: ${refusal.message}`)
    : await engine.transaction(commands)
  if (replies instanceof CommandError) return { status: 400, json: errorJson(replies.message) }
  return { status: 200, json: `[${replies.map((reply) => replyJson(reply, encoding)).join()}]` }
}

function errorResponse(error: unknown): Answer {
  if (error instanceof HttpError) return { status: error.status, json: errorJson(error.message) }
  if (error instanceof EngineDownError) return { status: 503, json: errorJson(error.message) }
  return { status: 500, json: errorJson('ERR internal error') }
}
