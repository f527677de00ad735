/* The `sluice` command. */
import { CommandError } from './errors.ts'
import { printable } from './printable.ts'
import { runCommand } from './run-command.ts'

async function main(): Promise<void> {
  // What a file of limits logs is no part of the result.
  console.log = console.error
  console.info = console.error
  console.debug = console.error
  // The reader may have read enough, such as `head -1`.
  process.stdout.on('error', () => process.exit())
  const result = await runCommand(process.argv.slice(2), process.cwd(), stopSignal)
  const { text, exitCode = 0, ended } = result
  process.exitCode = exitCode
  // A pipe may take it in parts.
  await new Promise<void>((resolve) => {
    process.stdout.write(`${text}\n`, () => resolve())
  })
  await ended
}

/** Without a listener, Ctrl-C ends the process at once. */
function stopSignal(): AbortSignal {
  const controller = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM']) process.once(name, () => controller.abort())
  return controller.signal
}

function fail(error: unknown): void {
  const isExpected = error instanceof CommandError
  const text = isExpected ? error.message : ((error as Error).stack ?? String(error))
  process.stderr.write(`sluice: ${printable(text)}\n`)
  if (process.argv.includes('--json')) {
    const { code, message } = isExpected ? error : { code: 'unexpected', message: String(error) }
    process.stdout.write(`${printable(JSON.stringify({ error: { code, message } }, null, 2))}\n`)
  }
  process.exitCode = 1
}

await main().catch(fail)
// A limiter's client may hold its connection open, and would keep the process alive.
process.exit()
