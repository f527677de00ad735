// The few structured fields (RFC 9651) that the RateLimit headers are made of.

/** An sf-string. @throws RangeError When the text has a character outside printable ASCII. */
export function sfString(text: string): string {
  if (!/^[\x20-\x7e]*$/.test(text)) throw new RangeError('A structured string is printable ASCII')
  return `"${text.replace(/["\\]/g, '\\$&')}"`
}

/** One member of an sf-list: a string with integer, string or no parameters. */
export function sfItem(
  name: string,
  parameters: Readonly<Record<string, number | string>>,
): string {
  let item = sfString(name)
  for (const [key, value] of Object.entries(parameters)) {
    item += `;${key}=${typeof value === 'number' ? sfInteger(value) : sfString(value)}`
  }
  return item
}

/** An sf-integer, held inside the range that RFC 9651 gives it (15 digits). */
function sfInteger(value: number): string {
  return String(Math.max(-999_999_999_999_999, Math.min(999_999_999_999_999, Math.round(value))))
}
