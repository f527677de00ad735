import { createHash } from 'node:crypto'
import { CommandError } from '../../../engine.ts'
import { formatDouble } from '../numbers.ts'
import type { Value } from '../value.ts'
import { popValue, pushValue } from './convert.ts'
import { LuaType, Machine, REGISTRY_INDEX } from './machine.ts'
import { PRELUDE } from './prelude.ts'

const TIME_LIMIT_MS = 5_000
const COUNT_HOOK = 8
const INSTRUCTIONS_PER_CHECK = 100_000

/** Runs a command for a script; its arguments hold one byte a character. */
export type ScriptCall = (args: string[]) => Value

/** A compiled script. */
export interface Script {
  readonly sha: string
  readonly reference: number
}

/** Compiles scripts and runs them one at a time, each to its end. */
export class Interpreter {
  readonly #machine: Machine
  readonly #runner: number
  #call: ScriptCall = () => null
  #deadlineMs = 0

  private constructor(machine: Machine) {
    this.#machine = machine
    this.#runner = this.#loadPrelude()
    this.#limitTime()
  }

  static async create(): Promise<Interpreter> {
    return new Interpreter(await Machine.create())
  }

  /** Compiles a script; an error reply when it does not. */
  compile(source: string, sha: string): Script | CommandError {
    const machine = this.#machine
    const failure = machine.load(source, '@user_script')
    if (failure !== undefined) {
      machine.setTop(0)
      return new CommandError(`ERR Error compiling script (new function): ${failure}`)
    }
    return { sha, reference: machine.lua.luaL_ref(machine.state, REGISTRY_INDEX) }
  }

  /** Forgets a compiled script. */
  release(script: Script): void {
    this.#machine.lua.luaL_unref(this.#machine.state, REGISTRY_INDEX, script.reference)
  }

  /** Runs a script; `call` runs the commands it sends. */
  run(script: Script, keys: string[], argv: string[], call: ScriptCall): Value {
    const machine = this.#machine
    const { lua, state } = machine
    this.#call = call
    this.#deadlineMs = Date.now() + TIME_LIMIT_MS
    lua.lua_rawgeti(state, REGISTRY_INDEX, this.#runner)
    lua.lua_rawgeti(state, REGISTRY_INDEX, script.reference)
    machine.pushString(script.sha)
    pushValue(machine, keys)
    pushValue(machine, argv)
    const status = lua.lua_pcall(state, 4, 1, 0)
    const value = status === 0 ? popValue(machine) : new CommandError(`ERR ${machine.string(-1)}`)
    machine.setTop(0)
    return value
  }

  #loadPrelude(): number {
    const machine = this.#machine
    const { lua, state } = machine
    const failure = machine.load(PRELUDE, '=prelude')
    if (failure !== undefined) throw new Error(failure)
    machine.pushFunction(() => (this.#answer() instanceof CommandError ? 'throw' : 'return'))
    machine.pushFunction(() => {
      this.#answer()
      return 'return'
    })
    machine.pushFunction(() => {
      const text = machine.string(1)
      machine.pushString(createHash('sha1').update(text, 'latin1').digest('hex'))
      return 'return'
    })
    if (lua.lua_pcall(state, 3, 1, 0) !== 0) throw new Error(machine.string(-1))
    return lua.luaL_ref(state, REGISTRY_INDEX)
  }

  /** Answers `redis.call`: the arguments are on the stack, the reply goes on top of it. */
  #answer(): Value {
    const reply = this.#reply()
    pushValue(this.#machine, reply)
    return reply
  }

  #reply(): Value {
    const machine = this.#machine
    const { lua, state } = machine
    const count = lua.lua_gettop(state)
    if (count === 0) {
      return new CommandError('ERR Please specify at least one argument for this redis lib call')
    }
    const args: string[] = []
    for (let index = 1; index <= count; index += 1) {
      const type = lua.lua_type(state, index)
      if (type === LuaType.String) args.push(machine.string(index))
      else if (type === LuaType.Number) args.push(formatDouble(lua.lua_tonumber(state, index)))
      else {
        return new CommandError('ERR Lua redis lib command arguments must be strings or integers')
      }
    }
    return this.#call(args)
  }

  /** A script without end would stop this process for good. */
  #limitTime(): void {
    const machine = this.#machine
    const { lua, state } = machine
    const hook = machine.addFunction(() => {
      if (Date.now() < this.#deadlineMs) return
      machine.pushString('Script killed: it ran for more than 5 seconds')
      lua.lua_error(state)
    }, 'vii')
    lua.lua_sethook(state, hook, COUNT_HOOK, INSTRUCTIONS_PER_CHECK)
  }
}
