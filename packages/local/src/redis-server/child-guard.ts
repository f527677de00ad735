import { spawn } from 'node:child_process'
import type { Socket } from 'node:net'

/**
 * Ends a child process when this one ends, however that happens.
 *
 * A handler of the `exit` event is not run for a process that a signal ends, so a shell waits for
 * the pipe between the two to close. The function it returns calls this off.
 */
export function guardChild(pid: number): () => void {
  const killNow = (): void => {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It has ended already.
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
