/* Finds a command by its name, and runs it. */
import { printable } from '@sluice/core/internal/text'
import { parseArgs } from 'node:util'
import {
  entryOf,
  optionsIn,
  type Command,
  type Place,
  type Result,
  type Values,
} from './command.ts'
import { asCommandError, refuse } from './errors.ts'
import { version } from './version.ts'
import { apply } from './commands/apply.ts'
import { credits } from './commands/credits.ts'
import { dev } from './commands/dev.ts'
import { doctor } from './commands/doctor.ts'
import { init } from './commands/init.ts'
import { keys } from './commands/keys.ts'
import { local } from './commands/local.ts'
import { log } from './commands/log.ts'
import { mcp } from './commands/mcp.ts'
import { preview } from './commands/preview.ts'
import { prices } from './commands/prices.ts'
import { queue } from './commands/queue.ts'
import { raise } from './commands/raise.ts'
import { replay } from './commands/replay.ts'
import { reset } from './commands/reset.ts'
import { set } from './commands/set.ts'
import { show } from './commands/show.ts'
import { start } from './commands/start.ts'
import { stop } from './commands/stop.ts'
import { token } from './commands/token.ts'
import { top } from './commands/top.ts'
import { undo } from './commands/undo.ts'
import { usage } from './commands/usage.ts'
import { why } from './commands/why.ts'

const COMMANDS: Readonly<Record<string, Command>> = {
  init,
  local,
  dev,
  token,
  show,
  why,
  set,
  raise,
  stop,
  start,
  reset,
  prices,
  preview,
  apply,
  undo,
  log,
  usage,
  queue,
  top,
  keys,
  credits,
  replay,
  doctor,
  mcp,
}

const COMMON = `  --json                print the result as JSON
  --help                print this
`

const USAGE = `Usage: sluice COMMAND [options]

${Object.entries(COMMANDS)
  .map(([name, { summary }]) => `  ${name.padEnd(10)}${summary}`)
  .join('\n')}

  sluice COMMAND --help     the options of a command
  sluice --version          the version
`

/**
 * Runs a command of `sluice`, as a terminal does, and returns what it prints.
 *
 * @param args The name of the command and its options.
 * @param folder The folder of the project. @default the folder of this process
 * @param stopSignal Returns a signal that ends what the command has started, such as a store. @default none ends it
 * @throws CommandError When there is no such command or option, it cannot be done, or the store fails. Its text says
 * what to do.
 * @example
 * const { json, exitCode } = await runCommand(['doctor', '--json'])
 */
export async function runCommand(
  args: readonly string[],
  folder: string = process.cwd(),
  stopSignal: Place['stopSignal'] = () => new AbortController().signal,
): Promise<Result> {
  const [name = '--help', ...others] = args
  if (name === 'help' && others[0] !== undefined) return runCommand([others[0], '--help'])
  if (['--help', '-h', 'help'].includes(name)) return said(USAGE)
  if (['--version', '-v'].includes(name)) return said(version())
  const command = entryOf(COMMANDS, name, 'command')
  const { values, positionals } = parse(name, command, others)
  if (values['help'] === true) return said(command.usage + COMMON)
  try {
    const run = (line: readonly string[]): Promise<Result> => runCommand(line, folder)
    const result = await command.run(values, positionals, { folder, stopSignal, run })
    const text = values['json'] === true ? JSON.stringify(result.json, null, 2) : result.text
    return { ...result, text: printable(text) }
  } catch (error) {
    throw asCommandError(error)
  }
}

const said = (text: string): Result => ({ text: text.trimEnd(), json: text.trimEnd() })

function parse(name: string, command: Command, args: string[]) {
  const flags = { json: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } } as const
  const options = { ...optionsIn(command.usage), ...flags }
  try {
    const { values, positionals, tokens } = parseArgs({
      args,
      options,
      allowPositionals: command.takesArguments !== undefined,
      tokens: true,
    })
    assertGivenOnce(
      tokens.flatMap((one) => (one.kind === 'option' ? [one.name] : [])),
      options,
    )
    const isAfter = tokens.find(({ kind }) => kind !== 'option')?.kind === 'option-terminator'
    if (command.takesArguments === 'after --' && positionals.length > 0 && !isAfter)
      refuse(`write -- before the command: sluice ${name} -- COMMAND`)
    return { values: values as Values, positionals }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    // Node's sentence repeats the text, which may be a secret.
    const isStray = code === 'ERR_PARSE_ARGS_UNEXPECTED_POSITIONAL'
    // Its sentences after the first are about the syntax of its options.
    const [text = ''] = isStray ? ['Unexpected argument'] : message.split(/\.? *\n|\. /)
    return refuse(`${text}. See: sluice ${name} --help`)
  }
}

/** Of two values, Node's parser takes the last, and says nothing. */
function assertGivenOnce(names: readonly string[], options: ReturnType<typeof optionsIn>): void {
  const twice = names.find((name, at) => names.indexOf(name) < at && !options[name]?.multiple)
  if (twice !== undefined) refuse(`--${twice} is given twice`)
}
