/** Returns a number of units as a person writes it: `30`, or dollars, `$1.50`. Other texts stay as they are. */
export function unitsOf(text: string): number | string {
  const dollars = /^\$(\d+(?:\.\d{1,6})?)$/.exec(text)?.[1]
  if (dollars !== undefined) return Math.round(Number(dollars) * 1_000_000)
  return /^\d+$/.test(text) ? Number(text) : text
}
