import { refuse, type OperatorWords } from './task.ts'

/** Returns micro-dollars of a text such as `$1.50`; `undefined` if it is no such text. */
export function microDollarsOf(text: string): number | undefined {
  const dollars = /^\$(\d+(?:\.\d{1,6})?)$/.exec(text)?.[1]
  return dollars === undefined ? undefined : Math.round(Number(dollars) * 1_000_000)
}

/**
 * Returns an amount of what a policy counts, as a person writes it: `30`, or `$1.50` of dollars. A text that is no
 * amount stays as it is, such as `unlimited`.
 *
 * @param of What the text is the value of, for errors: `limit`.
 * @throws OperatorError When dollars lack their sign, or something else has it. In a shell, `$20` without quotes is `0`.
 */
export function amountOf(
  text: string,
  { name, unit }: { readonly name: string; readonly unit: string },
  of: string,
  { pair }: Pick<OperatorWords, 'pair'>,
): number | string {
  const dollars = microDollarsOf(text)
  if (dollars !== undefined) {
    if (unit === 'usd') return dollars
    return refuse(`${name} counts ${unit}s, not dollars: ${pair(of, text.slice(1))}`)
  }
  if (!/^\d+(\.\d+)?$/.test(text)) return text
  if (unit !== 'usd') return Number(text)
  return refuse(
    `${name} counts dollars: write ${pair(of, `$${text}`)}, with the sign and in quotes`,
  )
}
