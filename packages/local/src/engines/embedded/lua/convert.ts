import { CommandError } from '../../engine.ts'
import { truncate, formatDouble } from '../numbers.ts'
import { Status, type Value } from '../value.ts'
import { LuaType, type Machine } from './machine.ts'

const STACK_PER_LEVEL = 4
const MAX_DEPTH = 500

/** Pushes a reply as Redis passes it to scripts: null is `false`, a status is `{ ok = … }`. */
export function pushValue(machine: Machine, value: Value): void {
  const { lua, state } = machine
  lua.lua_checkstack(state, STACK_PER_LEVEL)
  if (typeof value === 'string') machine.pushString(value)
  else if (typeof value === 'number' || typeof value === 'bigint') {
    lua.lua_pushnumber(state, Number(value))
  } else if (value === null) lua.lua_pushboolean(state, 0)
  else if (value instanceof CommandError) pushField(machine, 'err', value.message)
  else if (value instanceof Status) pushField(machine, 'ok', value.text)
  else {
    lua.lua_createtable(state, value.length, 0)
    for (const [index, item] of value.entries()) {
      pushValue(machine, item)
      lua.lua_rawseti(state, -2, index + 1)
    }
  }
}

/** Pops a value as Redis reads the result of a script: numbers lose their fraction. */
export function popValue(machine: Machine, depth = 0): Value {
  const { lua, state } = machine
  const value = topValue(machine, depth)
  lua.lua_settop(state, -2)
  return value
}

function topValue(machine: Machine, depth: number): Value {
  const { lua, state } = machine
  switch (lua.lua_type(state, -1)) {
    case LuaType.String:
      return machine.string(-1)
    case LuaType.Number:
      return truncate(lua.lua_tonumber(state, -1))
    case LuaType.Boolean:
      return lua.lua_toboolean(state, -1) === 1 ? 1 : null
    case LuaType.Table:
      return tableValue(machine, depth)
    default:
      return null
  }
}

function tableValue(machine: Machine, depth: number): Value {
  const { lua, state } = machine
  if (depth > MAX_DEPTH || lua.lua_checkstack(state, STACK_PER_LEVEL) === 0) {
    return new CommandError('ERR reached lua stack limit')
  }
  const error = field(machine, 'err', LuaType.String)
  if (error !== undefined) return new CommandError(oneLine(error))
  const status = field(machine, 'ok', LuaType.String)
  if (status !== undefined) return new Status(oneLine(status))
  const double = field(machine, 'double', LuaType.Number)
  if (double !== undefined) return formatDouble(Number(double))
  const items: Value[] = []
  for (let index = 1; ; index += 1) {
    lua.lua_rawgeti(state, -1, index)
    if (lua.lua_type(state, -1) === LuaType.Nil) break
    items.push(popValue(machine, depth + 1))
  }
  lua.lua_settop(state, -2)
  return items
}

function field(machine: Machine, name: string, type: number): string | undefined {
  const { lua, state } = machine
  machine.pushString(name)
  lua.lua_rawget(state, -2)
  const hasField = lua.lua_type(state, -1) === type
  const number = type === LuaType.Number ? String(lua.lua_tonumber(state, -1)) : undefined
  const text = hasField ? (number ?? machine.string(-1)) : undefined
  lua.lua_settop(state, -2)
  return text
}

function pushField(machine: Machine, name: string, text: string): void {
  const { lua, state } = machine
  lua.lua_createtable(state, 0, 1)
  machine.pushString(name)
  machine.pushString(text)
  lua.lua_rawset(state, -3)
}

const oneLine = (text: string): string => text.replace(/[\r\n]/g, ' ')
