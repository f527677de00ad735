import { readFileSync } from 'node:fs'
import { ConfigError } from '@sluice/core'
import { parseCommandLine, USAGE } from './options.ts'
import { runReplay } from './run.ts'

function version(): string {
  const manifest: unknown = JSON.parse(
    readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
  )
  return (manifest as { version: string }).version
}

/** Prints an error with the option as it is written in a command. */
function fail(error: unknown): void {
  const isOwn = error instanceof ConfigError && /^[a-zA-Z-]+$/.test(error.option)
  process.stderr.write(`sluice-replay: ${isOwn ? textOf(error) : String(error)}\n`)
  process.exitCode = 1
}

function textOf({ option, reason }: ConfigError): string {
  const flag = option.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
  return `${option === 'log' ? 'LOG' : `--${flag}`} ${reason}`
}

async function main(): Promise<void> {
  const action = parseCommandLine(process.argv.slice(2))
  if (action.kind === 'help') process.stdout.write(USAGE)
  else if (action.kind === 'version') process.stdout.write(`${version()}\n`)
  else await runReplay(action.options)
}

main().catch(fail)
