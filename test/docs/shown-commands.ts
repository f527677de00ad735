/* The commands that a page shows, and what they print. */
import { runIn, type Project } from '../cli/project.ts'
import type { Ran } from '../cli/run-here.ts'

/** A command as a page shows it. */
export interface ShownCommand {
  /** The heading above it. */
  readonly section: string
  readonly command: string
  /** Its output, if the page shows that. */
  readonly output: string | undefined
}

/** Headings, and commands with what they print; those of a list are indented. */
const PARTS =
  /^## (.+)$|```sh\n *(?:npm install [^\n]*\n)?([^\n]+)\n *```(?:\n\n *```text\n([^]*?)\n *```)?/gm
const SLUICE = 'npx @sluice/cli '

/** Returns the commands of a page that are `sluice` or `redis-cli`, in its order. */
export function commandsOn(page: string): ShownCommand[] {
  const commands: ShownCommand[] = []
  let section = ''
  for (const [, heading, command = '', output] of page.matchAll(PARTS)) {
    if (heading !== undefined) section = heading
    else if (/^(npx @sluice\/cli|redis-cli) /.test(command)) {
      commands.push({ section, command, output: output && withoutIndent(output) })
    }
  }
  return commands
}

function withoutIndent(text: string): string {
  const indent = /^ */.exec(text)?.[0] ?? ''
  return text.replaceAll(new RegExp(`^${indent}`, 'gm'), '')
}

/** Runs a command in a project, as its user does. `redisUrl` is the Redis of `redis-cli`. */
export function runShown(app: Project, command: string, redisUrl = ''): Promise<Ran> {
  if (!command.startsWith(SLUICE)) {
    // Makes redis-cli print as in a terminal.
    return runIn(app.folder, 'sh', ['-c', command], { REDIS_URL: redisUrl, FAKETTY: '1' })
  }
  const words = command.slice(SLUICE.length).match(/(?:'[^']*'|[^\s'])+/g) ?? []
  return app.sluice(words.map((word) => word.replaceAll("'", '')))
}

/** Hides what depends on the time and on chance: durations, dates, keys, and the width of their columns. */
export const timeless = (text: string): string =>
  text
    .replaceAll(/in (?:\d+[dhms] ?)+/g, 'in …')
    .replaceAll(/\d{4}-\d\d-\d\d[T ][\d:]+Z/g, '…')
    .replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d(?= to | \(| {2,}\d)/g, '…')
    .replaceAll(/--if-version \S+/g, '…')
    .replaceAll(/sk_[\w-]{43}/g, 'sk_…')
    .replaceAll(/key_[0-9a-f]{16}/g, 'key_…')
    .replaceAll(/(?<=created|expires|time|failed at|…) {2,}/g, '  ')
