import { Command as RedisCommand, Redis } from 'ioredis'
import { CommandError, EngineDownError, type Command, type Engine, type Reply } from './engine.ts'
import { LocalError } from '../errors.ts'

const CONNECT_TIMEOUT_MS = 3_000
const COMMAND_TIMEOUT_MS = 10_000
const MAX_RECONNECT_DELAY_MS = 250

/**
 * Connects to a Redis over one shared, pipelined connection.
 *
 * It never sends a command twice: a script whose reply was lost may have counted already.
 *
 * @throws LocalError `ERR_LOCAL_REDIS_UNREACHABLE` when the first connection fails.
 */
export async function connectRedis(url: string): Promise<Engine> {
  const redis = new Redis(url, {
    // Upstash answers in RESP2; the default of the Redis client may be RESP3.
    protocol: 2,
    lazyConnect: true,
    connectTimeout: CONNECT_TIMEOUT_MS,
    commandTimeout: COMMAND_TIMEOUT_MS,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    enableOfflineQueue: false,
    disableClientInfo: true,
    stringNumbers: true,
    retryStrategy: (attempt) => Math.min(attempt * 25, MAX_RECONNECT_DELAY_MS),
  })
  // Without a listener ioredis prints every failed reconnection.
  let reason: string | undefined
  redis.on('error', (error) => (reason = error.message))
  try {
    await redis.connect()
  } catch (error) {
    redis.disconnect()
    reason ??= error instanceof Error ? error.message : 'unknown reason'
    throw new LocalError(
      'ERR_LOCAL_REDIS_UNREACHABLE',
      `Cannot reach the Redis at ${redis.options.host}:${redis.options.port}: ${reason}`,
    )
  }

  // Upper case keeps ioredis's reply transformers (`hgetall` into an object) out of the way.
  const execute = async ([name, ...args]: Command): Promise<Reply> => {
    const command = new RedisCommand(name.toUpperCase(), args, { replyEncoding: null })
    try {
      return toReply(await redis.sendCommand(command))
    } catch (error) {
      return asCommandError(error)
    }
  }

  return {
    execute,
    // Written in one tick on one connection, so that no command comes between MULTI and EXEC.
    async transaction(commands) {
      const calls = [['MULTI'] as const, ...commands, ['EXEC'] as const].map(execute)
      const replies = await Promise.all(calls)
      const execReply = replies.pop() ?? null
      if (Array.isArray(execReply)) return execReply as readonly Reply[]
      return discardError(execReply, replies)
    },
    async close() {
      redis.disconnect()
    },
  }
}

function discardError(execReply: Reply, queueReplies: readonly Reply[]): CommandError {
  const cause = queueReplies.find((reply) => reply instanceof CommandError)
  if (cause) return new CommandError(`EXECABORT Transaction discarded because of: ${cause.message}`)
  return execReply instanceof CommandError
    ? execReply
    : new CommandError('EXECABORT Transaction discarded')
}

function toReply(raw: unknown): Reply {
  if (raw === null || Buffer.isBuffer(raw)) return raw
  if (typeof raw === 'string') return toInteger(raw)
  if (Array.isArray(raw)) return raw.map(toReply)
  return asCommandError(raw)
}

function toInteger(digits: string): number | bigint {
  const value = Number(digits)
  return Number.isSafeInteger(value) ? value : BigInt(digits)
}

/** Returns an error reply as a value. @throws EngineDownError for any other error. */
function asCommandError(error: unknown): CommandError {
  if (error instanceof Error && error.name === 'ReplyError') return new CommandError(error.message)
  throw new EngineDownError('ERR the Redis behind this server did not answer', { cause: error })
}
