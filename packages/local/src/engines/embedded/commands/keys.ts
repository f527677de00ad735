import { at, reads, writes, type Definition, type Definitions } from '../command.ts'
import { globMatcher } from '../glob.ts'
import type { Data, Keyspace } from '../keyspace.ts'
import { parseInteger } from '../numbers.ts'
import { Fault, Status, SYNTAX_ERROR } from '../value.ts'

const EXPIRY_FLAGS = new Set(['NX', 'XX', 'GT', 'LT'])
const MAX_EXPIRY_MS = 2 ** 63

export const keyCommands: Definitions = {
  DEL: writes(-2, remove),
  UNLINK: writes(-2, remove),
  EXISTS: reads(-2, (keyspace, keys) => keys.filter((key) => has(keyspace, key)).length),
  TOUCH: reads(-2, (keyspace, keys) => keys.filter((key) => has(keyspace, key)).length),
  TYPE: reads(2, (keyspace, args) => new Status(typeName(keyspace.data(at(args, 0))))),
  EXPIRE: expireCommand('expire', 1_000, true),
  PEXPIRE: expireCommand('pexpire', 1, true),
  EXPIREAT: expireCommand('expireat', 1_000, false),
  PEXPIREAT: expireCommand('pexpireat', 1, false),
  PERSIST: writes(2, (keyspace, args) => {
    if (typeof keyspace.expiry(at(args, 0)) !== 'number') return 0
    keyspace.expire(at(args, 0), undefined)
    return 1
  }),
  TTL: expiryReader((expiresAt, nowMs) => Math.round((expiresAt - nowMs) / 1_000)),
  PTTL: expiryReader((expiresAt, nowMs) => expiresAt - nowMs),
  EXPIRETIME: expiryReader((expiresAt) => Math.round(expiresAt / 1_000)),
  PEXPIRETIME: expiryReader((expiresAt) => expiresAt),
  KEYS: reads(2, (keyspace, args) => keyspace.keys().filter(globMatcher(at(args, 0)))),
  SCAN: reads(-2, scan),
}

const has = (keyspace: Keyspace, key: string): boolean => keyspace.data(key) !== undefined

function remove(keyspace: Keyspace, keys: string[]): number {
  return keys.filter((key) => keyspace.delete(key)).length
}

function typeName(data: Data | undefined): string {
  if (data === undefined) return 'none'
  if (typeof data === 'string') return 'string'
  if (Array.isArray(data)) return 'list'
  return data instanceof Map ? 'hash' : 'zset'
}

/** Reads an expiry as epoch milliseconds. @throws Fault for a time that Redis cannot store. */
export function expiryTime(text: string, unitMs: number, baseMs: number, command: string): number {
  const expiresAt = parseInteger(text) * unitMs + baseMs
  if (Math.abs(expiresAt) >= MAX_EXPIRY_MS) {
    throw new Fault(`ERR invalid expire time in '${command}' command`)
  }
  return expiresAt
}

function expireCommand(name: string, unitMs: number, relative: boolean): Definition {
  const run = (keyspace: Keyspace, args: string[]): number => {
    const [key = '', time = '', ...rest] = args
    const flags = rest.map((flag) => flag.toUpperCase())
    const unknown = flags.findIndex((flag) => !EXPIRY_FLAGS.has(flag))
    if (unknown >= 0) throw new Fault(`ERR Unsupported option ${at(rest, unknown)}`)
    if (flags.includes('NX') && flags.some((flag) => flag !== 'NX')) {
      throw new Fault('ERR NX and XX, GT or LT options at the same time are not compatible')
    }
    if (flags.includes('GT') && flags.includes('LT')) {
      throw new Fault('ERR GT and LT options at the same time are not compatible')
    }
    const expiresAt = expiryTime(time, unitMs, relative ? keyspace.nowMs : 0, name)
    const current = keyspace.expiry(key)
    if (current === null || !mayExpire(flags, expiresAt, current)) return 0
    keyspace.expire(key, expiresAt)
    return 1
  }
  return writes(-3, run)
}

function mayExpire(flags: string[], next: number, current: number | undefined): boolean {
  if (flags.includes('NX') && current !== undefined) return false
  if (flags.includes('XX') && current === undefined) return false
  // A key without an expiry counts as one that expires never.
  if (flags.includes('GT') && next <= (current ?? Infinity)) return false
  return !(flags.includes('LT') && next >= (current ?? Infinity))
}

function expiryReader(read: (expiresAt: number, nowMs: number) => number): Definition {
  const run = (keyspace: Keyspace, args: string[]): number => {
    const expiresAt = keyspace.expiry(at(args, 0))
    if (expiresAt === null) return -2
    return expiresAt === undefined ? -1 : read(expiresAt, keyspace.nowMs)
  }
  return reads(2, run)
}

/** Returns all keys in one call, so the next cursor is always 0. */
function scan(keyspace: Keyspace, [cursor = '', ...options]: string[]): [string, string[]] {
  if (!/^\d+$/.test(cursor)) throw new Fault('ERR invalid cursor')
  let keys = keyspace.keys()
  for (let index = 0; index < options.length; index += 2) {
    const value = options[index + 1]
    const option = at(options, index).toUpperCase()
    if (value === undefined || !['MATCH', 'COUNT', 'TYPE'].includes(option)) {
      throw new Fault(SYNTAX_ERROR)
    }
    if (option === 'MATCH') keys = keys.filter(globMatcher(value))
    if (option === 'TYPE') keys = keys.filter((key) => typeName(keyspace.data(key)) === value)
    if (option === 'COUNT' && parseInteger(value) < 1) throw new Fault(SYNTAX_ERROR)
  }
  return ['0', keys]
}
