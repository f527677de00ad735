import { execFileSync, spawn } from 'node:child_process'
import { onTestFinished } from 'vitest'

/** Creates a pipe that has a server function for a reader, so that a test that reads it fails and does not wait. */
export function offerPipe(path: string): void {
  execFileSync('sh', ['-c', 'mkfifo "$0"', path])
  const offer = `while :; do echo "'use server'" > "$0"; done`
  const writer = spawn('sh', ['-c', offer, path], { stdio: 'ignore' })
  onTestFinished(() => void writer.kill())
}
