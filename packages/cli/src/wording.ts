/* How a text names what its reader can do: in the words of a command line, or of the tools of an agent. */
import { AsyncLocalStorage } from 'node:async_hooks'

const toolRuns = new AsyncLocalStorage<true>()

/** Runs a command for an agent. Its texts then name tools and their arguments. */
export const asTool = <Result>(run: () => Promise<Result>): Promise<Result> =>
  toolRuns.run(true, run)

const isTool = (): boolean => toolRuns.getStore() === true

/** Returns an option: `--top 20`, or the argument `"top": "20"` of a tool. */
export function option(name: string, value?: string | true): string {
  if (isTool()) return value === undefined ? `"${name}"` : `"${name}": ${JSON.stringify(value)}`
  return typeof value === 'string' ? `--${name} ${value}` : `--${name}`
}

/** Returns what a command line has without an option: `LOG`, or the argument `"log"` of a tool. */
export const operand = (name: string): string => (isTool() ? `"${name}"` : name.toUpperCase())

/** Returns an option that names the limiter. A tool has none: they are those of `sluice mcp`. */
export const limiterOption = (text: string): string =>
  isTool() ? `${text}, where sluice mcp is started` : text

/** Returns a name with its value: `limit=30`, or `"limit": "30"` in an argument of a tool. */
export function pair(name: string, value: string): string {
  if (isTool()) return `"${name}": ${JSON.stringify(value)}`
  return `${name}=${value.startsWith('$') ? `'${value}'` : value}`
}

/** Returns a dimension of the subject: `--tenant acme`, or a part of the argument `subject` of a tool. */
export function dimensionOption(name: string, value: string): string {
  if (isTool()) return `"subject": { "${name}": ${JSON.stringify(value)} }`
  return ['tenant', 'user', 'route', 'model', 'plan'].includes(name)
    ? `--${name} ${value}`
    : `--subject ${name}=${value}`
}

/** Returns the commands that list the keys of a tenant, and end its stop. */
export const keysOf = (tenant: string): string => `sluice keys --tenant ${tenant}`
export const startOf = (subject: Readonly<Record<string, string>>): string =>
  `sluice start ${Object.values(subject).join(' ')}`

/** Returns a command with options: `sluice undo --yes`, or `the tool undo with "yes": true`. */
export function command(
  name: string,
  options: Readonly<Record<string, string | true>> = {},
): string {
  const texts = Object.entries(options).map((given) => option(...given))
  if (!isTool()) return ['sluice', name, ...texts].join(' ')
  return `the tool ${name}${texts.length > 0 ? ` with ${texts.join(', ')}` : ''}`
}
