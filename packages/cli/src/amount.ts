import { refuse } from './errors.ts'

/** Returns the units of an amount: dollars of a policy that counts dollars, such as `12.50`, otherwise a number. @param of The operand, for errors. @throws CommandError */
export function unitsOf(text: string, { unit }: { readonly unit: string }, of: string): number {
  const number = (unit === 'usd' ? /^\$?(\d+(?:\.\d{1,6})?)$/ : /^(\d+)$/).exec(text)?.[1]
  if (number !== undefined) return Math.round(Number(number) * (unit === 'usd' ? 1_000_000 : 1))
  const [kind, example] = unit === 'usd' ? ['dollars', '12.50'] : [`${unit}s`, '20']
  return refuse(`${of} ${text} must be an amount in ${kind}, such as ${example}`)
}
