import { createHash } from 'node:crypto'
import { CommandError } from '../engine.ts'
import { arityFits, definitionOf, refusalOf, run, wrongArity } from './dispatch.ts'
import type { Keyspace } from './keyspace.ts'
import type { Interpreter, Script, ScriptCall } from './lua/interpreter.ts'
import { parseInteger } from './numbers.ts'
import { Fault, OK, type Value } from './value.ts'

const NO_SCRIPT = 'NOSCRIPT No matching script. Please use EVAL.'
const FLAGS = new Set([
  'no-writes',
  'allow-oom',
  'allow-stale',
  'no-cluster',
  'allow-cross-slot-keys',
])

/** The arities of the commands that run or load scripts. Scripts may not send them. */
export const SCRIPT_ARITIES: Readonly<Record<string, number>> = {
  EVAL: -3,
  EVAL_RO: -3,
  EVALSHA: -3,
  EVALSHA_RO: -3,
  SCRIPT: -2,
}

interface LoadedScript extends Script {
  readonly noWrites: boolean
}

/** The script cache and the commands that use it. */
export class Scripts {
  readonly #loaded = new Map<string, LoadedScript>()
  readonly #keyspace: Keyspace
  readonly #interpreter: Interpreter
  /** True once the running script has sent a write. */
  #hasWritten = false

  constructor(keyspace: Keyspace, interpreter: Interpreter) {
    this.#keyspace = keyspace
    this.#interpreter = interpreter
  }

  /** Runs a command of `SCRIPT_ARITIES` whose arity was checked. */
  execute(name: string, args: string[]): Value {
    if (name === 'SCRIPT') return this.#script(args)
    const [text = '', countText = '', ...rest] = args
    const count = parseInteger(countText)
    if (count > rest.length) {
      throw new Fault("ERR Number of keys can't be greater than number of args")
    }
    if (count < 0) throw new Fault("ERR Number of keys can't be negative")
    const script = name.startsWith('EVALSHA') ? this.#find(text) : this.#load(text)
    const readOnly = script.noWrites || name.endsWith('_RO')
    this.#hasWritten = false
    const call: ScriptCall = (command) => this.#call(command, readOnly)
    return this.#interpreter.run(script, rest.slice(0, count), rest.slice(count), call)
  }

  #script([subcommand = '', ...args]: string[]): Value {
    switch (subcommand.toUpperCase()) {
      case 'LOAD':
        if (args.length !== 1) return wrongArity('script|load')
        return this.#load(args[0] ?? '').sha
      case 'EXISTS':
        if (args.length === 0) return wrongArity('script|exists')
        return args.map((sha) => (this.#loaded.has(sha.toLowerCase()) ? 1 : 0))
      case 'FLUSH':
        if (args.length > 1 || !/^(?:a?sync)?$/i.test(args[0] ?? '')) {
          throw new Fault('ERR SCRIPT FLUSH only support SYNC|ASYNC option')
        }
        for (const script of this.#loaded.values()) this.#interpreter.release(script)
        this.#loaded.clear()
        return OK
      default:
        throw new Fault(`ERR unknown subcommand '${subcommand}'. Try SCRIPT HELP.`)
    }
  }

  #find(sha: string): LoadedScript {
    const script = this.#loaded.get(sha.toLowerCase())
    if (!script) throw new Fault(NO_SCRIPT)
    return script
  }

  #load(source: string): LoadedScript {
    const sha = createHash('sha1').update(source, 'latin1').digest('hex')
    const loaded = this.#loaded.get(sha)
    if (loaded) return loaded
    const { body, noWrites } = readShebang(source)
    const script = { sha, body, noWrites }
    const failure = this.#interpreter.compile(script)
    if (failure) throw new Fault(failure.message)
    this.#loaded.set(sha, script)
    return script
  }

  #call([name = '', ...args]: string[], readOnly: boolean): Value {
    const definition = definitionOf(name)
    if (!definition) {
      const isScriptCommand = Object.hasOwn(SCRIPT_ARITIES, name.toUpperCase())
      return new CommandError(
        isScriptCommand
          ? 'ERR This Redis command is not allowed from script'
          : 'ERR Unknown Redis command called from script',
      )
    }
    if (!arityFits(definition.arity, args.length)) {
      return new CommandError('ERR Wrong number of args calling Redis command from script')
    }
    if (readOnly && definition.write) {
      return new CommandError('ERR Write commands are not allowed from read-only scripts.')
    }
    if (!this.#hasWritten) {
      const refusal = refusalOf(name, definition, this.#keyspace)
      if (refusal) return refusal
    }
    this.#hasWritten ||= definition.write === true
    return run(definition, this.#keyspace, args)
  }
}

/** Reads a first line such as `#!lua flags=no-writes`. The body keeps its line numbers. */
function readShebang(source: string): { body: string; noWrites: boolean } {
  if (!source.startsWith('#!')) return { body: source, noWrites: false }
  const end = source.indexOf('\n')
  if (end < 0) throw new Fault('ERR Invalid script shebang')
  const [engine = '', ...options] = source.slice(0, end).split(' ')
  if (engine !== '#!lua') throw new Fault(`ERR Unexpected engine in script shebang: ${engine}`)
  const flags = options.flatMap((option) => {
    if (!option.startsWith('flags=')) throw new Fault(`ERR Unknown lua shebang option: ${option}`)
    return option.slice('flags='.length).split(',').filter(Boolean)
  })
  const unknown = flags.find((flag) => !FLAGS.has(flag))
  if (unknown !== undefined) throw new Fault(`ERR Unexpected flag in script shebang: ${unknown}`)
  return { body: source.slice(end), noWrites: flags.includes('no-writes') }
}
