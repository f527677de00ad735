/* Names come from anybody's requests: a terminal must not obey them. */

// Controls but for the ends of lines, and the characters that reorder text (UAX #9) or break lines.
const UNPRINTABLE = /(?!\r?\n)[\p{Cc}\u200E\u200F\u2028-\u202E\u2066-\u2069]/gu

const escape = (character: string): string =>
  `\\u${character.codePointAt(0)?.toString(16).padStart(4, '0')}`

/** Returns a text without what a terminal would obey, such as escape sequences. */
export const printable = (text: string): string => text.replaceAll(UNPRINTABLE, escape)

/** Returns a name in one line, without what a terminal would obey. */
export const nameText = (name: string): string => printable(name.replaceAll(/[\r\n]/g, escape))
