/* The command, in the process of a test: a process of its own takes most of a second. */
import { Console } from 'node:console'
import { createRequire } from 'node:module'
import { sep } from 'node:path'
import { Writable } from 'node:stream'
import { runCommand } from '@sluice/cli'
import { failureText } from '../../packages/cli/dist/failure.js'

/** The output of a command. */
export interface Ran {
  readonly out: string
  readonly err: string
  readonly exitCode: number | null
}

/** An environment with nothing of this machine: not its database, not the options of the tests' own Node.js. */
export const ownEnv = (folder: string): Record<string, string> => ({
  PATH: process.env['PATH'] ?? '',
  HOME: folder,
})

const { cache } = createRequire(import.meta.url)
/** The commands that run, and what this process has without them. */
const state = {
  running: 0,
  env: process.env,
  console: globalThis.console,
  folder: process.cwd(),
  printed: [''],
}

/** Runs a command in a folder. Several at once must be in one folder, because they share their variables. */
export async function runHere(folder: string, args: readonly string[]): Promise<Ran> {
  begin(folder)
  try {
    const { text, exitCode = 0 } = await runCommand(args, folder)
    return { out: text.trimEnd(), err: state.printed.join('').trimEnd(), exitCode }
  } catch (error) {
    const { err, out = '' } = failureText(error, args)
    return { out, err: [...state.printed, err].join('').trimEnd(), exitCode: 1 }
  } finally {
    state.running -= 1
    if (state.running === 0) {
      process.env = state.env
      globalThis.console = state.console
      process.chdir(state.folder)
    }
  }
}

function begin(folder: string): void {
  if (state.running === 0) {
    const own = { env: process.env, console: globalThis.console, folder: process.cwd() }
    Object.assign(state, { ...own, printed: [] })
    process.chdir(folder)
    process.env = ownEnv(folder)
    // The command itself prints nothing else: what a file of limits logs goes to standard error.
    const stream = new Writable({
      write(chunk, _, done) {
        state.printed.push(String(chunk))
        done()
      },
    })
    globalThis.console = new Console({ stdout: stream, stderr: stream })
  } else if (process.env['HOME'] !== folder) throw new Error('A command runs in another folder')
  state.running += 1
  forgetModules(folder)
}

/** A file that a test has changed is loaded anew, as by a new process. */
function forgetModules(folder: string): void {
  for (const file of Object.keys(cache)) if (file.startsWith(folder + sep)) delete cache[file]
}
