/* The user's own command, beside the store and the page. */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { constants } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { isatty } from 'node:tty'
import { attempt } from '@sluice/core/internal/limiter'
import { CommandError } from '../errors.ts'

/** The time that a command has to end by itself after a signal. */
const GRACE_MS = 5_000
const POLL_MS = 20
const UTF8 = { encoding: 'utf8' } as const

export interface ChildCommand {
  /** Resolves to its exit code when it has ended, with all that it has started. */
  readonly ended: Promise<number>
}

/**
 * Starts a command in this terminal, and ends it at a signal.
 *
 * @param words Its name and arguments.
 * @throws CommandError When the command is not found, or does not start.
 */
export async function startCommand(
  words: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string | undefined>>,
  signal: AbortSignal,
): Promise<ChildCommand> {
  const [name = '', ...args] = words
  const isWindows = process.platform === 'win32'
  // In a terminal the command stays in this group, so that it can read keys, and Ctrl-C reaches it by itself. Elsewhere
  // it has a group of its own, which also has what it starts.
  const inTerminal = isatty(0)
  const hasGroup = !inTerminal && !isWindows
  const child = spawn(name, args, {
    cwd,
    env,
    stdio: 'inherit',
    detached: hasGroup,
    // There, npm and others are scripts.
    shell: isWindows,
  })
  try {
    await once(child, 'spawn')
  } catch (error) {
    throw new CommandError(startFailure(name, error as NodeJS.ErrnoException), { cause: error })
  }
  const target = hasGroup ? -(child.pid ?? 0) : (child.pid ?? 0)
  return { ended: untilEnded(child, target, signal, inTerminal) }
}

const startFailure = (name: string, { code, message }: NodeJS.ErrnoException): string =>
  code === 'ENOENT'
    ? `there is no command "${name}" on the PATH`
    : `the command "${name}" does not start: ${message}`

async function untilEnded(
  child: ChildProcess,
  target: number,
  signal: AbortSignal,
  inTerminal: boolean,
): Promise<number> {
  const targets = [target]
  let timer: NodeJS.Timeout | undefined
  const stop = (): void => {
    const name = signal.reason === 'SIGINT' ? 'SIGINT' : 'SIGTERM'
    if (inTerminal) targets.push(...startedBy(target))
    // The terminal has sent it to all of them.
    if (!(inTerminal && name === 'SIGINT')) killAll(targets, name)
    timer = setTimeout(() => killAll(targets, 'SIGKILL'), GRACE_MS)
  }
  const exited = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>
  if (signal.aborted) stop()
  else signal.addEventListener('abort', stop, { once: true })
  const [code, endedBy] = await exited
  signal.removeEventListener('abort', stop)
  clearTimeout(timer)
  await Promise.all(targets.filter((one) => one !== child.pid).map(endRest))
  return code ?? 128 + (endedBy === null ? 0 : constants.signals[endedBy])
}

/** Ends what a command has started and not waited for. */
async function endRest(target: number): Promise<void> {
  const deadline = Date.now() + GRACE_MS
  for (let isLeft = kill(target, 'SIGTERM'); isLeft; isLeft = kill(target, 0)) {
    if (Date.now() > deadline) return void kill(target, 'SIGKILL')
    await delay(POLL_MS)
  }
}

/** Returns the processes that one has started, and those that these have: npm does not end what its script has started. */
function startedBy(parent: number): number[] {
  const rows = processes()
  const found = [parent]
  for (const one of found) {
    found.push(...rows.filter(([, startedFrom]) => startedFrom === one).map(([pid]) => pid))
  }
  return found.slice(1)
}

/** Returns each process of this machine with its parent. None where there is no `ps`. */
function processes(): (readonly [pid: number, parent: number])[] {
  const text = attempt(() => execFileSync('ps', ['-A', '-o', 'pid=,ppid='], UTF8), '')
  const pairs = text.matchAll(/(\d+)\s+(\d+)/g)
  return Array.from(pairs, ([, pid, parent]) => [Number(pid), Number(parent)])
}

function killAll(targets: readonly number[], signal: NodeJS.Signals): void {
  for (const target of targets) kill(target, signal)
}

/** Sends a signal. Returns false if nobody is left to get it. */
const kill = (target: number, signal: NodeJS.Signals | 0): boolean =>
  attempt(() => process.kill(target, signal), false)
