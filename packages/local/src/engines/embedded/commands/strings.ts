import { at, pairs, reads, writes, type Definition, type Definitions } from '../command.ts'
import type { Keyspace } from '../keyspace.ts'
import { addIntegers, integer, parseBigInteger } from '../numbers.ts'
import { Fault, NOT_AN_INTEGER, OK, SYNTAX_ERROR, type Value } from '../value.ts'
import { expiryTime } from './keys.ts'

const EXPIRY_UNITS: Record<string, Omit<Expiry, 'time'>> = {
  EX: { unitMs: 1_000, relative: true },
  PX: { unitMs: 1, relative: true },
  EXAT: { unitMs: 1_000, relative: false },
  PXAT: { unitMs: 1, relative: false },
}

export const stringCommands: Definitions = {
  GET: reads(2, (keyspace, args) => keyspace.string(at(args, 0)) ?? null),
  SET: writes(-3, set),
  SETEX: writes(4, setWithExpiry('setex', 1_000)),
  PSETEX: writes(4, setWithExpiry('psetex', 1)),
  SETNX: writes(3, (keyspace, [key = '', value = '']) => {
    if (keyspace.data(key) !== undefined) return 0
    keyspace.set(key, value)
    return 1
  }),
  GETSET: writes(3, (keyspace, [key = '', value = '']) => {
    const previous = keyspace.string(key) ?? null
    keyspace.set(key, value)
    return previous
  }),
  GETDEL: writes(2, (keyspace, args) => {
    const value = keyspace.string(at(args, 0)) ?? null
    keyspace.delete(at(args, 0))
    return value
  }),
  MGET: reads(-2, (keyspace, keys) =>
    keys.map((key) => {
      const data = keyspace.data(key)
      return typeof data === 'string' ? data : null
    }),
  ),
  MSET: writes(-3, (keyspace, args) => {
    if (args.length % 2 === 1) throw new Fault("ERR wrong number of arguments for 'mset' command")
    for (const [key, value] of pairs(args)) keyspace.set(key, value)
    return OK
  }),
  STRLEN: reads(2, (keyspace, args) => keyspace.string(at(args, 0))?.length ?? 0),
  APPEND: writes(3, (keyspace, [key = '', suffix = '']) => {
    const value = (keyspace.string(key) ?? '') + suffix
    keyspace.set(key, value, true)
    return value.length
  }),
  INCR: counter(2, () => 1n),
  DECR: counter(2, () => -1n),
  INCRBY: counter(3, (args) => parseBigInteger(at(args, 1))),
  DECRBY: counter(3, (args) => {
    const amount = parseBigInteger(at(args, 1))
    if (amount === -(2n ** 63n)) throw new Fault('ERR decrement would overflow')
    return -amount
  }),
}

function counter(arity: number, amount: (args: string[]) => bigint): Definition {
  const run = (keyspace: Keyspace, args: string[]): Value => {
    const key = at(args, 0)
    const by = amount(args)
    const value = addIntegers(parseBigInteger(keyspace.string(key) ?? '0', NOT_AN_INTEGER), by)
    keyspace.set(key, String(value), true)
    return integer(value)
  }
  return writes(arity, run)
}

function setWithExpiry(name: string, unitMs: number): Definition['run'] {
  return (keyspace, [key = '', time = '', value = '']) => {
    const expiresAt = positiveExpiry(keyspace, { time, unitMs, relative: true }, name)
    keyspace.set(key, value)
    keyspace.expire(key, expiresAt)
    return OK
  }
}

interface Expiry {
  time: string
  unitMs: number
  relative: boolean
}

function positiveExpiry(keyspace: Keyspace, { time, unitMs, relative }: Expiry, name: string) {
  const expiresAt = expiryTime(time, unitMs, relative ? keyspace.nowMs : 0, name)
  if (time.startsWith('-') || time === '0') {
    throw new Fault(`ERR invalid expire time in '${name}' command`)
  }
  return expiresAt
}

interface SetOptions {
  condition?: 'NX' | 'XX'
  get?: true
  keepExpiry?: true
  expiry?: Expiry
}

function parseSetOptions(args: string[]): SetOptions {
  const options: SetOptions = {}
  for (let index = 0; index < args.length; index += 1) {
    const word = at(args, index).toUpperCase()
    const unit = Object.hasOwn(EXPIRY_UNITS, word) ? EXPIRY_UNITS[word] : undefined
    const time = args[index + 1]
    const isExpirySet = options.keepExpiry || options.expiry
    if ((word === 'NX' || word === 'XX') && !options.condition) options.condition = word
    else if (word === 'GET') options.get = true
    else if (word === 'KEEPTTL' && !isExpirySet) options.keepExpiry = true
    else if (unit && time !== undefined && !isExpirySet) {
      options.expiry = { time, ...unit }
      index += 1
    } else throw new Fault(SYNTAX_ERROR)
  }
  return options
}

function set(keyspace: Keyspace, [key = '', value = '', ...rest]: string[]): Value {
  const { condition, get, keepExpiry, expiry } = parseSetOptions(rest)
  const expiresAt = expiry && positiveExpiry(keyspace, expiry, 'set')
  const previous = get ? (keyspace.string(key) ?? null) : null
  const exists = keyspace.data(key) !== undefined
  if ((condition === 'NX' && exists) || (condition === 'XX' && !exists)) return previous
  keyspace.set(key, value, keepExpiry)
  if (expiresAt !== undefined) keyspace.expire(key, expiresAt)
  return get ? previous : OK
}
