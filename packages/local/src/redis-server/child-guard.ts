import { spawn } from 'node:child_process'
import type { Socket } from 'node:net'

/**
 * Kills a child process when this process ends, whatever ends it. Returns a function that cancels
 * this.
 *
 * Node runs no `exit` handler in a process that a signal ends. So a shell waits until the pipe to
 * this process closes, and kills the child then.
 */
export function guardChild(pid: number): () => void {
  const killNow = (): void => {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // The child has ended already.
    }
  }
  process.once('exit', killNow)
  if (process.platform === 'win32') return () => process.off('exit', killNow)

  const script = 'read -r _; kill -9 "$1"'
  const guard = spawn('/bin/sh', ['-c', script, 'sh', String(pid)], {
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  guard.on('error', () => {})
  guard.unref()
  const pipe = guard.stdin as Socket | null
  pipe?.on('error', () => {})
  pipe?.unref()
  return () => {
    process.off('exit', killNow)
    guard.kill('SIGKILL')
  }
}
