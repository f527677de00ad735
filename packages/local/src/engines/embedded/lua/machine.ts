import wasmoon from 'wasmoon-lua5.1'

/** An address in the virtual machine's memory. */
type Pointer = number

/** The virtual machine's memory. Do not keep the views: growing the memory replaces them. */
interface Memory {
  readonly HEAPU8: Uint8Array
  readonly HEAPU32: Uint32Array
  /** Makes a host function callable and returns its address. `signature` is Emscripten's. */
  addFunction(body: (...args: number[]) => number | void, signature: string): Pointer
}

/** The functions of Lua's C API that the machine uses. */
interface LuaFunctions {
  malloc(size: number): Pointer
  free(address: Pointer): void
  luaopen_base(state: Pointer): number
  luaopen_table(state: Pointer): number
  luaopen_string(state: Pointer): number
  luaopen_math(state: Pointer): number
  luaopen_debug(state: Pointer): number
  luaL_newstate(): Pointer
  luaL_loadbuffer(state: Pointer, text: Pointer, size: number, name: Pointer): number
  luaL_where(state: Pointer, level: number): void
  luaL_ref(state: Pointer, table: number): number
  luaL_unref(state: Pointer, table: number, reference: number): void
  lua_checkstack(state: Pointer, extra: number): number
  lua_createtable(state: Pointer, items: number, fields: number): void
  lua_error(state: Pointer): number
  lua_gettop(state: Pointer): number
  lua_insert(state: Pointer, index: number): void
  lua_objlen(state: Pointer, index: number): number
  lua_pcall(state: Pointer, args: number, results: number, handler: number): number
  lua_pushboolean(state: Pointer, value: number): void
  lua_pushcclosure(state: Pointer, body: Pointer, upvalues: number): void
  lua_pushlstring(state: Pointer, text: Pointer, size: number): void
  lua_pushnumber(state: Pointer, value: number): void
  lua_pushvalue(state: Pointer, index: number): void
  lua_rawget(state: Pointer, index: number): void
  lua_rawgeti(state: Pointer, index: number, item: number): void
  lua_rawset(state: Pointer, index: number): void
  lua_rawseti(state: Pointer, index: number, item: number): void
  lua_sethook(state: Pointer, hook: Pointer, mask: number, count: number): number
  lua_settop(state: Pointer, index: number): void
  lua_toboolean(state: Pointer, index: number): number
  lua_tolstring(state: Pointer, index: number, size: Pointer): Pointer
  lua_tonumber(state: Pointer, index: number): number
  lua_type(state: Pointer, index: number): number
}

export const REGISTRY_INDEX = -10_000

/** The position of a value of a host function's own, the first of which is 1. */
export const ownIndex = (place: number): number => -10_002 - place

/** Of `lua_pcall`: keep all results. */
export const ALL_RESULTS = -1

/** Of `lua_sethook`: call the hook after a number of instructions. */
const MASK_COUNT = 8

/** The results of `lua_type` for the types that become replies. */
export const LuaType = { Nil: 0, Boolean: 1, Number: 3, String: 4, Table: 5 } as const

/** A Lua 5.1 that receives and returns strings byte for byte. */
export class Machine {
  readonly lua: LuaFunctions
  readonly state: Pointer
  readonly #memory: Memory
  #scratch: Pointer
  #scratchSize = 4_096
  readonly #sizeOut: Pointer

  private constructor(memory: Memory) {
    const lua = exportsOf(memory)
    this.lua = lua
    this.#memory = memory
    this.state = lua.luaL_newstate()
    this.#scratch = lua.malloc(this.#scratchSize)
    this.#sizeOut = lua.malloc(4)
  }

  static async create(): Promise<Machine> {
    const api = await wasmoon.LuaApi.initialize()
    const machine = new Machine(api.module)
    const { lua, state } = machine
    lua.luaopen_base(state)
    lua.luaopen_table(state)
    lua.luaopen_string(state)
    lua.luaopen_math(state)
    lua.luaopen_debug(state)
    lua.lua_settop(state, 0)
    return machine
  }

  pushString(text: string): void {
    const address = this.#write(text)
    this.lua.lua_pushlstring(this.state, address, text.length)
  }

  /**
   * Pushes a host function, which takes the values on top of the stack as its own. It returns the number of its
   * results on top of the stack, or has Lua throw the top.
   */
  pushFunction(body: () => number | 'throw', ownValues = 0): void {
    const { lua, state } = this
    const call = (): number => {
      const results = body()
      return results === 'throw' ? lua.lua_error(state) : results
    }
    const address = this.#memory.addFunction(call, 'ii')
    lua.lua_pushcclosure(state, address, ownValues)
  }

  /** Calls `hook` each time that Lua has run so many instructions. */
  everyInstructions(count: number, hook: () => void): void {
    const address = this.#memory.addFunction(() => hook(), 'vii')
    this.lua.lua_sethook(this.state, address, MASK_COUNT, count)
  }

  /** Reads the string at an index, or the number as text. */
  string(index: number): string {
    const address = this.lua.lua_tolstring(this.state, index, this.#sizeOut)
    const size = this.#memory.HEAPU32[this.#sizeOut >> 2] ?? 0
    return Buffer.from(this.#memory.HEAPU8.buffer, address, size).toString('latin1')
  }

  /** Compiles a chunk onto the stack. Returns the text of the error if that fails. */
  load(source: string, name: string): string | undefined {
    const text = this.lua.malloc(source.length + 1)
    this.#memory.HEAPU8.set(Buffer.from(source, 'latin1'), text)
    const label = this.#write(`${name}\0`)
    const status = this.lua.luaL_loadbuffer(this.state, text, source.length, label)
    this.lua.free(text)
    return status === 0 ? undefined : this.string(-1)
  }

  setTop(index: number): void {
    this.lua.lua_settop(this.state, index)
  }

  #write(text: string): Pointer {
    if (text.length > this.#scratchSize) {
      this.lua.free(this.#scratch)
      this.#scratchSize = text.length * 2
      this.#scratch = this.lua.malloc(this.#scratchSize)
    }
    this.#memory.HEAPU8.set(Buffer.from(text, 'latin1'), this.#scratch)
    return this.#scratch
  }
}

/** Finds the exported C functions, whose names begin with an underscore. */
function exportsOf(memory: Memory): LuaFunctions {
  const named = Object.entries(memory)
    .filter(([name]) => name.startsWith('_'))
    .map(([name, value]) => [name.slice(1), value])
  return Object.fromEntries(named) as LuaFunctions
}
