/* Reads the options of a command, and answers each mistake with a sentence. */
import { parseArgs } from 'node:util'

/** Ends the command with a sentence. */
export function refuse(sentence: string): never {
  console.error(sentence)
  process.exit(2)
}

/** Reads options by their names. Those whose default is `true` or `false` have no value. */
export function readOptions<Defaults extends Readonly<Record<string, string | boolean>>>(
  defaults: Defaults,
): { -readonly [Name in keyof Defaults]: Defaults[Name] extends boolean ? boolean : string } {
  const options = Object.fromEntries(
    Object.entries(defaults).map(([name, value]) => {
      const type = typeof value === 'boolean' ? ('boolean' as const) : ('string' as const)
      return [name, { type, default: value }]
    }),
  )
  try {
    return parseArgs({ options }).values as never
  } catch (error) {
    const names = Object.keys(defaults).map((name) => `--${name}`)
    return refuse(`${(error as Error).message}\nThe options are ${names.join(', ')}`)
  }
}

/** Reads a whole number of at least `least`. */
export function whole(name: string, text: string, least = 1): number {
  const number = Number(text)
  if (text.trim() !== '' && Number.isSafeInteger(number) && number >= least) return number
  return refuse(`--${name} must be a whole number of at least ${least}, not "${text}"`)
}
