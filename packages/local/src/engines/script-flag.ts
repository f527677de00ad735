import { createHash } from 'node:crypto'
import { CommandError } from './engine.ts'
import type { Arg, Command, Engine, Reply } from './engine.ts'

const FLAG_LINE = '#!lua flags=allow-key-locking'
// A comment, so that errors keep the line numbers of the text the caller sent.
const STRIPPED_LINE = '--'

/**
 * Makes an engine accept scripts that begin with Upstash's `#!lua flags=allow-key-locking`.
 *
 * Stock Redis refuses that flag, so the script runs without its first line and is still known by
 * the SHA-1 of what the caller sent. Whether a script is loaded is left to the engine: its
 * `NOSCRIPT` after a restart or a flush is the true one.
 */
export function withScriptFlag(engine: Engine): Engine {
  const runsAs = new Map<string, string>()
  const knownAs = new Map<string, string>()

  const register = (source: string): string => {
    const stripped = STRIPPED_LINE + source.slice(FLAG_LINE.length)
    runsAs.set(sha1(source), sha1(stripped))
    knownAs.set(sha1(stripped), sha1(source))
    return stripped
  }
  const toEngine = (sha: Arg): Arg => runsAs.get(String(sha).toLowerCase()) ?? sha
  const toCaller = (text: string): string =>
    text.replace(/\b[0-9a-f]{40}\b/g, (sha) => knownAs.get(sha) ?? sha)

  const rewrite = (command: Command): Command => {
    const [name, first, ...rest] = command
    if (first === undefined) return command
    switch (name.toUpperCase()) {
      case 'EVAL':
      case 'EVAL_RO':
        return [name, hasFlag(first) ? register(String(first)) : first, ...rest]
      case 'EVALSHA':
      case 'EVALSHA_RO':
        return [name, toEngine(first), ...rest]
      case 'SCRIPT':
        return [name, first, ...rewriteScript(String(first).toUpperCase(), rest)]
      default:
        return command
    }
  }
  const rewriteScript = (subcommand: string, args: Arg[]): Arg[] => {
    if (subcommand === 'FLUSH') {
      runsAs.clear()
      knownAs.clear()
    }
    if (subcommand === 'LOAD')
      return args.map((arg) => (hasFlag(arg) ? register(String(arg)) : arg))
    return subcommand === 'EXISTS' ? args.map(toEngine) : args
  }
  const restore = (command: Command, reply: Reply): Reply => {
    if (reply instanceof CommandError) return new CommandError(toCaller(reply.message))
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
      if (replies instanceof CommandError) return new CommandError(toCaller(replies.message))
      return replies.map((reply, index) => restore(commands[index] ?? ['EXEC'], reply))
    },
    close: () => engine.close(),
  }
}

function hasFlag(script: Arg): boolean {
  const text = String(script)
  return text === FLAG_LINE || text.startsWith(`${FLAG_LINE}\n`)
}

function sha1(text: string): string {
  return createHash('sha1').update(text).digest('hex')
}
