import { createHash } from 'node:crypto'
import { CommandError, type Arg, type Command, type Engine, type Reply } from './engine.ts'

const FLAG_LINE = '#!lua flags=allow-key-locking'
// A comment in its place keeps the line numbers in errors.
const STRIPPED_LINE = '--'

/**
 * Makes an engine accept scripts that begin with Upstash's `#!lua flags=allow-key-locking`.
 *
 * Stock Redis refuses that flag. So the script runs without its first line, and callers still name
 * it by the SHA-1 of the text that they sent. Only the engine knows which scripts are loaded, so
 * that `NOSCRIPT` after a restart or a flush is right.
 */
export function withScriptFlag(engine: Engine): Engine {
  const engineShas = new Map<string, string>()
  const callerShas = new Map<string, string>()

  const register = (source: string): string => {
    const stripped = STRIPPED_LINE + source.slice(FLAG_LINE.length)
    engineShas.set(sha1(source), sha1(stripped))
    callerShas.set(sha1(stripped), sha1(source))
    return stripped
  }
  const toEngineSha = (sha: Arg): Arg => engineShas.get(String(sha).toLowerCase()) ?? sha
  const withCallerShas = (text: string): string =>
    text.replace(/\b[0-9a-f]{40}\b/g, (sha) => callerShas.get(sha) ?? sha)

  const rewrite = (command: Command): Command => {
    const [name, first, ...rest] = command
    if (first === undefined) return command
    switch (name.toUpperCase()) {
      case 'EVAL':
      case 'EVAL_RO':
        return [name, hasFlag(first) ? register(String(first)) : first, ...rest]
      case 'EVALSHA':
      case 'EVALSHA_RO':
        return [name, toEngineSha(first), ...rest]
      case 'SCRIPT':
        return [name, first, ...rewriteScript(String(first).toUpperCase(), rest)]
      default:
        return command
    }
  }
  const rewriteScript = (subcommand: string, args: Arg[]): Arg[] => {
    if (subcommand === 'FLUSH') {
      engineShas.clear()
      callerShas.clear()
    }
    if (subcommand === 'LOAD')
      return args.map((arg) => (hasFlag(arg) ? register(String(arg)) : arg))
    return subcommand === 'EXISTS' ? args.map(toEngineSha) : args
  }
  const restore = (command: Command, reply: Reply): Reply => {
    if (reply instanceof CommandError) return new CommandError(withCallerShas(reply.message))
    const [name, subcommand, script = ''] = command
    const isLoad = /^script$/i.test(name) && /^load$/i.test(String(subcommand))
    return isLoad && hasFlag(script) ? Buffer.from(sha1(String(script))) : reply
  }

  return {
    async execute(command) {
      return restore(command, await engine.execute(rewrite(command)))
    },
    async transaction(commands) {
      const replies = await engine.transaction(commands.map(rewrite))
      if (replies instanceof CommandError) return new CommandError(withCallerShas(replies.message))
      return replies.map((reply, index) => restore(commands[index] ?? ['EXEC'], reply))
    },
    close: () => engine.close(),
  }
}

function hasFlag(script: Arg): boolean {
  const text = String(script)
  return text === FLAG_LINE || text.startsWith(`${FLAG_LINE}\n`)
}

const sha1 = (text: string): string => createHash('sha1').update(text).digest('hex')
