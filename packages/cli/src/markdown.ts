/* Markdown whose names come from requests and files. */
import { nameText } from '@sluice/core/internal/text'

/** Returns a text that ends no cell, and is not taken for HTML, a link or a mention. */
export const escaped = (text: string): string =>
  text.replaceAll(/[\\|<>&@[\]`*_#~]/g, (one) => `&#${one.codePointAt(0)};`)

/** Returns a name as code, in which nothing is formatted. */
export const codeText = (name: string): string =>
  /[`|\\]/.test(name) ? escaped(name) : `\`${name}\``

/** Returns a name as it is if its words are plain, else as code. */
export const plainText = (name: string): string =>
  /^[\p{L}\p{N}]+(?:[ _-][\p{L}\p{N}]+)*$/u.test(name) ? name : codeText(name)

/**
 * Returns the lines of a table.
 *
 * @param textOf Makes the text of a cell safe. @default for names from requests
 */
export const markdownTable = (
  {
    head,
    rows,
  }: { readonly head: readonly string[]; readonly rows: readonly (readonly string[])[] },
  textOf: (text: string) => string = escaped,
): string[] => {
  const rowOf = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => textOf(nameText(cell))).join(' | ')} |`
  return [head, head.map(() => '---'), ...rows].map(rowOf)
}
