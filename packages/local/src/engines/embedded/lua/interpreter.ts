import { createHash } from 'node:crypto'
import { CommandError } from '../../engine.ts'
import { formatDouble } from '../numbers.ts'
import type { Value } from '../value.ts'
import { popValue, pushValue } from './convert.ts'
import { LuaType, Machine, REGISTRY_INDEX } from './machine.ts'
import { pushWatched } from './patterns.ts'
import { PRELUDE } from './prelude.ts'
import { TimeLimitError } from './time-limit.ts'

/** The instructions of Lua after which its time is looked at. */
const INSTRUCTIONS_PER_LOOK = 1_000

/** Runs a command for a script. Its arguments have one byte per character. */
export type ScriptCall = (args: string[]) => Value

/** The time that a script may take. It is read when the script starts. */
export interface ScriptBudget {
  readonly ms: number
}

export interface Script {
  readonly sha: string
  readonly body: string
}

/** Compiles scripts and runs them one at a time, each until it ends or exceeds its budget. */
export class Interpreter {
  readonly #budget: ScriptBudget
  #machine: Machine
  #runner: number
  readonly #references = new Map<string, number>()
  #call: ScriptCall = () => null
  #deadlineMs = Infinity
  #isBroken = false

  private constructor(machine: Machine, budget: ScriptBudget) {
    this.#budget = budget
    this.#machine = machine
    this.#runner = this.#loadPrelude()
  }

  static async create(budget: ScriptBudget): Promise<Interpreter> {
    return new Interpreter(await Machine.create(), budget)
  }

  /** True after a script was killed. `repair` then replaces the machine. */
  get isBroken(): boolean {
    return this.#isBroken
  }

  async repair(): Promise<void> {
    this.#machine = await Machine.create()
    this.#references.clear()
    this.#runner = this.#loadPrelude()
    this.#isBroken = false
  }

  /** Compiles a script. Returns an error reply if that fails. */
  compile({ sha, body }: Script): CommandError | undefined {
    const failure = this.#guard(sha, () => this.#load(sha, body))
    return failure instanceof CommandError ? failure : undefined
  }

  release({ sha }: Script): void {
    const reference = this.#references.get(sha)
    this.#references.delete(sha)
    if (reference === undefined) return
    this.#machine.lua.luaL_unref(this.#machine.state, REGISTRY_INDEX, reference)
  }

  /** Runs a script; `call` runs the commands it sends. */
  run(script: Script, keys: string[], argv: string[], call: ScriptCall): Value {
    this.#deadlineMs = performance.now() + this.#budget.ms
    this.#call = (args) => {
      this.#assertInTime()
      return call(args)
    }
    return this.#guard(script.sha, () => this.#run(script, keys, argv))
  }

  /** Throws what Lua cannot catch. It is called between commands: none ends half done. */
  #assertInTime(): void {
    if (performance.now() > this.#deadlineMs) throw new TimeLimitError()
  }

  #run({ sha, body }: Script, keys: string[], argv: string[]): Value {
    const machine = this.#machine
    const { lua, state } = machine
    const reference = this.#references.get(sha) ?? this.#load(sha, body)
    if (reference instanceof CommandError) return reference
    lua.lua_rawgeti(state, REGISTRY_INDEX, this.#runner)
    lua.lua_rawgeti(state, REGISTRY_INDEX, reference)
    machine.pushString(sha)
    pushValue(machine, keys)
    pushValue(machine, argv)
    const status = lua.lua_pcall(state, 4, 1, 0)
    const value = status === 0 ? popValue(machine) : new CommandError(`ERR ${machine.string(-1)}`)
    machine.setTop(0)
    return value
  }

  #load(sha: string, body: string): number | CommandError {
    const machine = this.#machine
    const failure = machine.load(body, '@user_script')
    if (failure !== undefined) {
      machine.setTop(0)
      return new CommandError(`ERR Error compiling script (new function): ${failure}`)
    }
    const reference = machine.lua.luaL_ref(machine.state, REGISTRY_INDEX)
    this.#references.set(sha, reference)
    return reference
  }

  /** Returns an error reply for what breaks the machine: too much time, or a full stack. */
  #guard<T>(sha: string, work: () => T): T | CommandError {
    try {
      return work()
    } catch (error) {
      this.#isBroken = true
      const reason =
        error instanceof TimeLimitError
          ? `it ran for more than ${this.#budget.ms / 1_000} seconds`
          : 'it exceeded the capacity of the interpreter'
      return new CommandError(
        `ERR Script killed: ${reason}; its earlier writes stay. script: ${sha}`,
      )
    }
  }

  #loadPrelude(): number {
    const machine = this.#machine
    const { lua, state } = machine
    const failure = machine.load(PRELUDE, '=prelude')
    if (failure !== undefined) throw new Error(failure)
    machine.pushFunction(() => (this.#answer() instanceof CommandError ? 'throw' : 1))
    machine.pushFunction(() => {
      this.#answer()
      return 1
    })
    machine.pushFunction(() => {
      const text = machine.string(1)
      machine.pushString(createHash('sha1').update(text, 'latin1').digest('hex'))
      return 1
    })
    machine.pushFunction(() => {
      pushWatched(machine, () => this.#deadlineMs - performance.now())
      return 1
    })
    if (lua.lua_pcall(state, 4, 1, 0) !== 0) throw new Error(machine.string(-1))
    machine.everyInstructions(INSTRUCTIONS_PER_LOOK, () => this.#assertInTime())
    return lua.luaL_ref(state, REGISTRY_INDEX)
  }

  /** Runs `redis.call`: reads the arguments from the stack and pushes the reply. */
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
}
