import { at, pairs, reads, writes, type Definitions } from '../command.ts'
import type { Keyspace } from '../keyspace.ts'
import { addIntegers, integer, parseBigInteger } from '../numbers.ts'
import { Fault, OK } from '../value.ts'

export const hashCommands: Definitions = {
  HSET: writes(-4, (keyspace, args) => store(keyspace, args, 'hset')),
  HMSET: writes(-4, (keyspace, args) => {
    store(keyspace, args, 'hmset')
    return OK
  }),
  HSETNX: writes(4, (keyspace, args) =>
    keyspace.hash(at(args, 0))?.has(at(args, 1)) ? 0 : store(keyspace, args, 'hsetnx'),
  ),
  HGET: reads(3, (keyspace, args) => keyspace.hash(at(args, 0))?.get(at(args, 1)) ?? null),
  HMGET: reads(-3, (keyspace, [key = '', ...fields]) => {
    const hash = keyspace.hash(key)
    return fields.map((field) => hash?.get(field) ?? null)
  }),
  HGETALL: reads(2, (keyspace, args) => [...(keyspace.hash(at(args, 0)) ?? [])].flat()),
  HRANDFIELD: reads(-2, (keyspace, [key = '', count = '', option = '']) => {
    const number = Number(count)
    if (!Number.isSafeInteger(number) || number < 0 || option.toUpperCase() !== 'WITHVALUES')
      throw new Fault('ERR HRANDFIELD needs a count that is not negative, and WITHVALUES, here')
    const fields = [...(keyspace.hash(key) ?? [])]
    return shuffled(fields).slice(0, number).flat()
  }),
  HKEYS: reads(2, (keyspace, args) => [...(keyspace.hash(at(args, 0))?.keys() ?? [])]),
  HVALS: reads(2, (keyspace, args) => [...(keyspace.hash(at(args, 0))?.values() ?? [])]),
  HLEN: reads(2, (keyspace, args) => keyspace.hash(at(args, 0))?.size ?? 0),
  HEXISTS: reads(3, (keyspace, args) => (keyspace.hash(at(args, 0))?.has(at(args, 1)) ? 1 : 0)),
  HDEL: writes(-3, (keyspace, [key = '', ...fields]) => {
    const hash = keyspace.hash(key)
    if (!hash) return 0
    const removed = fields.filter((field) => hash.delete(field)).length
    keyspace.deleteIfEmpty(key, hash)
    return removed
  }),
  HINCRBY: writes(4, (keyspace, [key = '', field = '', amount = '']) => {
    const by = parseBigInteger(amount)
    const current = keyspace.hash(key)?.get(field) ?? '0'
    const value = addIntegers(parseBigInteger(current, 'ERR hash value is not an integer'), by)
    store(keyspace, [key, field, String(value)], 'hincrby')
    return integer(value)
  }),
}

function shuffled<T>(items: readonly T[]): T[] {
  const drawn = items.map((item) => ({ item, order: Math.random() }))
  return drawn.toSorted((a, b) => a.order - b.order).map(({ item }) => item)
}

function store(keyspace: Keyspace, [key = '', ...rest]: string[], name: string): number {
  if (rest.length % 2 === 1) throw new Fault(`ERR wrong number of arguments for '${name}' command`)
  const existing = keyspace.hash(key)
  const hash = existing ?? new Map<string, string>()
  const sizeBefore = hash.size
  for (const [field, value] of pairs(rest)) hash.set(field, value)
  if (!existing) keyspace.set(key, hash)
  return hash.size - sizeBefore
}
