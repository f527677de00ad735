import { execFileSync, spawn } from 'node:child_process'
import { onTestFinished } from 'vitest'

/** Creates a pipe that has a server function for a reader, so that a test that reads it fails and does not wait. */
export function offerPipe(path: string): void {
  execFileSync('sh', ['-c', 'mkfifo "$0"', path])
  // Creates nothing in a folder that the test is about to remove.
  const offer = `while echo "'use server'" | dd of="$0" conv=nocreat; do :; done`
  const writer = spawn('sh', ['-c', offer, path], { stdio: 'ignore', detached: true })
  const { pid } = writer
  if (pid === undefined) throw new Error('No shell could be started')
  onTestFinished(() => {
    if (writer.exitCode === null) process.kill(-pid, 'SIGKILL')
  })
}
