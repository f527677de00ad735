/* The `sluice` command. */
import { failureText } from './failure.ts'
import { reserveOutput, writeResult } from './output.ts'
import { runCommand } from './run-command.ts'

async function main(): Promise<void> {
  reserveOutput()
  // The reader may have read enough, such as `head -1`.
  process.stdout.on('error', ({ code }: NodeJS.ErrnoException) =>
    process.exit(code === 'EPIPE' ? 0 : 1),
  )
  process.once('exit', failIfUnfinished)
  const result = await runCommand(process.argv.slice(2), process.cwd(), stopSignal)
  const { text, exitCode = 0, ended } = result
  process.exitCode = exitCode
  isFinished = true
  if (text !== '') await writeResult(`${text}\n`)
  if (ended) process.exitCode = await ended
}

let isFinished = false

/** A file of limits may end the process, or wait for nothing: then nothing has been done. */
function failIfUnfinished(): void {
  if (isFinished) return
  process.exitCode = 1
  process.stderr.write('sluice: the file of limits has ended the process before it has loaded\n')
}

/** Without a listener, Ctrl-C ends the process at once. */
function stopSignal(): AbortSignal {
  const controller = new AbortController()
  // A Ctrl-C comes twice under npx: from the terminal, and passed on.
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(name, () => controller.abort(name))
  return controller.signal
}

async function fail(error: unknown): Promise<void> {
  isFinished = true
  process.exitCode = 1
  const { err, out } = failureText(error, process.argv.slice(2))
  await new Promise((resolve) => process.stderr.write(`${err}\n`, resolve))
  if (out !== undefined) await writeResult(`${out}\n`)
}

await main().catch(fail)
// A limiter's client may hold its connection open, and would keep the process alive.
process.exit()
