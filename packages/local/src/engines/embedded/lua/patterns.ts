import { ALL_RESULTS, LuaType, ownIndex, type Machine } from './machine.ts'
import { runWithin } from './time-limit.ts'

/** An estimate of steps above which the time is watched: starting to watch costs as much as a whole script. */
const MANY_STEPS = 1e8

/** The characters that repeat what is before them. */
const REPEATS = /[*+?-]/g
/** Digits before a character that is no digit: they match in one way only. */
const SURE = /%d[*+](?=[()]*(?:[:;=,](?![*?-])|\$?$))/g

/**
 * Pushes a function of `string` that takes a pattern, for what is on the stack: its name, the function, and the
 * one to call if it may take long. Matching runs no instruction of Lua, after which the interpreter could look
 * at the time.
 */
export function pushWatched(machine: Machine, leftMs: () => number): void {
  const { lua, state } = machine
  const name = machine.string(1)
  machine.pushFunction(() => {
    const count = lua.lua_gettop(state)
    const isSlow = mayTakeLong(machine)
    lua.lua_pushvalue(state, ownIndex(isSlow ? 2 : 1))
    lua.lua_insert(state, 1)
    const call = (): number => lua.lua_pcall(state, count, ALL_RESULTS, 0)
    const status = isSlow ? runWithin(Math.max(1, Math.ceil(leftMs())), call) : call()
    if (status === 0) return lua.lua_gettop(state)
    if (lua.lua_type(state, -1) === LuaType.String) nameThePlace(machine, name)
    return 'throw'
  }, 2)
}

/** A pattern tries each of its repeats at each place of the text, in the worst case in all combinations. */
function mayTakeLong(machine: Machine): boolean {
  const { lua, state } = machine
  if (lua.lua_gettop(state) < 2 || lua.lua_type(state, 2) !== LuaType.String) return false
  const length = lua.lua_objlen(state, 1)
  const pattern = machine.string(2)
  const repeats = pattern.replace(SURE, '').match(REPEATS)?.length ?? 0
  const places = pattern.startsWith('^') ? 1 : length
  return places * length ** repeats * pattern.length > MANY_STEPS
}

/** Gives an error of matching itself its place in the script, as if no function were in between. */
function nameThePlace(machine: Machine, name: string): void {
  const text = machine.string(-1)
  // Thrown by a function of the script.
  if (/^user_script:\d+:/.test(text)) return
  machine.lua.luaL_where(machine.state, 1)
  machine.pushString(machine.string(-1) + text.replace("'?'", `'${name}'`))
}
