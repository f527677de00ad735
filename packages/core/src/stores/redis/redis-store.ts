/* A store in Redis, whatever sends its commands: scripts, their cache, and one deadline for each call. */
import type { StoreError } from '../../errors.ts'
import type { Command, RedisError, Transport } from './transport.ts'
import { systemClock } from '../../clock.ts'
import { hex } from '../../internal/hex.ts'
import { assertName, assertPositiveInteger } from '../../internal/validation.ts'
import { decidingScript } from '../../lua/program.ts'
import { checkCall, parseCheckReply, scriptName } from '../../lua/call.ts'
import { luaOf } from '../../lua/twins.ts'
import { withDeadline } from '../deadline.ts'
import { badReply, type Operation, type Store } from '../store.ts'

/** Options of every store in Redis. */
export interface RedisStoreOptions {
  /**
   * The time limit of one decision, in milliseconds. After it the request is aborted and the limiter's
   * `onStoreError` applies. An isolate's first request includes a TLS handshake. @default 1_000
   */
  readonly timeoutMs?: number
  /** The first part of every key. @default 'sluice' */
  readonly prefix?: string
}

/** A Lua script in two forms. */
interface Script {
  /** Locks only its own keys. Upstash accepts the flag for it, stock Redis refuses it. */
  readonly locking: ScriptText
  readonly plain: ScriptText
}

interface ScriptText {
  readonly text: string
  /** The digest by which EVALSHA calls it. */
  readonly sha1: string
}

// Unless this is exactly the first line, Upstash locks the whole database for each call.
const LOCKING_LINE = '#!lua flags=allow-key-locking\n'

/** Limiters have few shapes. If there are more, the oldest script is dropped and assembled again when needed. */
const MAX_SCRIPTS = 256

// Shared by all limiters of an isolate, so that one created for a single request finds its script. Plain
// data: on Cloudflare one request cannot await another's promise.
const scripts = new Map<string, Script>()

/** Validates the options that every store in Redis has. @throws ConfigError When one is malformed. */
export function resolveRedisOptions(
  factory: string,
  { timeoutMs = 1_000, prefix = 'sluice' }: RedisStoreOptions,
): [timeoutMs: number, prefix: string] {
  return [
    assertPositiveInteger(`${factory}.timeoutMs`, timeoutMs, 60_000),
    assertName(`${factory}.prefix`, prefix),
  ]
}

/**
 * Creates a store in Redis that sends its scripts by `transport`, each call under one deadline.
 *
 * @param acceptsFlag False if Redis is known to refuse scripts with the flag of `LOCKING_LINE`.
 */
export function redisStore(
  transport: Transport,
  timeoutMs: number,
  prefix: string,
  acceptsFlag = true,
): Store {
  const keyStart = `${prefix}:`

  /** Sends a script by its digest; if Redis does not have it, by its text. */
  async function send(script: Script, call: Command, signal: AbortSignal): Promise<unknown> {
    // Another call may find out meanwhile that the flag is refused.
    const flagged = acceptsFlag
    const { sha1, text } = flagged ? script.locking : script.plain
    try {
      return await transport(['EVALSHA', sha1, ...call], signal)
    } catch (error) {
      // Only this error proves that nothing ran, so that it is safe to send again.
      if ((error as StoreError).word !== 'NOSCRIPT') throw error
    }
    try {
      return await transport(['EVAL', text, ...call], signal)
    } catch (error) {
      // Redis 7 refuses the flag. Older versions do not know such a first line.
      if (!flagged || !(error as Partial<RedisError>).find?.(/shebang|near '#'/i)) throw error
      acceptsFlag = false
      return transport(['EVAL', script.plain.text, ...call], signal)
    }
  }

  /** Runs the script of this name within the deadline of the work that began at `startedAt`. */
  async function runScript(
    name: string,
    source: () => string,
    call: Command,
    startedAt: number,
  ): Promise<unknown> {
    const script = scripts.get(name) ?? (await loadScript(name, source))
    return withDeadline(timeoutMs, startedAt, (signal) => send(script, call, signal))
  }

  async function run<Result>(operation: Operation<Result>): Promise<Result> {
    const { kind, keys, data, startedAt } = operation
    const lua = luaOf(operation)
    const call = [keys.length, ...keys.map((key) => keyStart + key), ...lua.args(data)]
    const name = `${kind.name} ${lua.shape?.(data)}`
    const reply = await runScript(name, () => lua.script(data), call, startedAt)
    const parsed = lua.parse(reply, data)
    if (parsed === undefined) throw badReply()
    return parsed.result
  }

  return {
    timeoutMs,
    run,

    async check(request) {
      const choice = request.alternatives?.kind.operation(request)
      if (choice) return run(choice)
      const source = (): string => decidingScript(request)
      const call = checkCall(request, keyStart)
      const reply = await runScript(scriptName(request), source, call, request.startedAt)
      return parseCheckReply(reply, request)
    },

    async reset(keys) {
      const command = ['DEL', ...keys.map((key) => keyStart + key)]
      const call = (signal: AbortSignal) => transport(command, signal)
      const deleted = await withDeadline(timeoutMs, systemClock(), call)
      if (!Number.isInteger(deleted)) throw badReply()
    },
  }
}

/** Assembles a script and stores it under its name. */
async function loadScript(name: string, source: () => string): Promise<Script> {
  const text = minify(source())
  const script = { locking: await scriptText(LOCKING_LINE + text), plain: await scriptText(text) }
  scripts.set(name, script)
  for (const oldest of scripts.keys()) if (scripts.size > MAX_SCRIPTS) scripts.delete(oldest)
  return script
}

/** Removes comments, indentation and empty lines. */
export const minify = (script: string): string =>
  script.replace(/--.*$/gm, '').replace(/\n\s*/g, '\n').trim()

async function scriptText(text: string): Promise<ScriptText> {
  const hash = await crypto.subtle.digest('SHA-1', new TextEncoder().encode(text))
  return { text, sha1: hex(hash) }
}
