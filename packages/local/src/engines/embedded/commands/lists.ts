import { at, reads, writes, type Definitions } from '../command.ts'
import { parseInteger } from '../numbers.ts'

export const listCommands: Definitions = {
  RPUSH: writes(-3, (keyspace, [key = '', ...items]) => {
    const list = keyspace.list(key) ?? []
    if (list.length === 0) keyspace.set(key, list)
    for (const item of items) list.push(item)
    return list.length
  }),
  LRANGE: reads(4, (keyspace, args) => {
    const [from, to] = [parseInteger(at(args, 1)), parseInteger(at(args, 2))]
    const list = keyspace.list(at(args, 0)) ?? []
    // A position below 0 counts from the end.
    const [first, last] = [from, to].map((index) => (index < 0 ? list.length + index : index))
    return list.slice(Math.max(0, first as number), Math.max(0, (last as number) + 1))
  }),
  LLEN: reads(2, (keyspace, args) => keyspace.list(at(args, 0))?.length ?? 0),
}
