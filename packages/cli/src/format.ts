import { nameText } from '@sluice/core/internal/text'
import stringWidth from 'string-width'
import { option } from './wording.ts'

/** The widest cell, in columns of a terminal: one name must not push the others out of sight. */
const MAX_CELL = 60

const graphemes = new Intl.Segmenter()

function cellText(cell: string): string {
  const text = nameText(cell)
  if (stringWidth(text) <= MAX_CELL) return text
  let cut = ''
  for (const { segment } of graphemes.segment(text)) {
    if (stringWidth(cut + segment) >= MAX_CELL) break
    cut += segment
  }
  return `${cut}…`
}

/** Returns the line that says how many rows a table leaves out, if any. */
export const moreText = (count: number, top: number): string[] =>
  count > top ? [`and ${count - top} more: ${option('top', String(count))}`] : []

/** Returns a table with aligned columns. Columns of numbers stand at the right. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [head, ...rows.map((row) => row.map(cellText))]
  const widths = head.map((_, at) => Math.max(...all.map((row) => stringWidth(row[at] ?? ''))))
  const isNumber = head.map((_, at) =>
    rows.every((row) => /^[-$\d. ]*$|^unlimited$/.test(row[at] ?? '')),
  )
  return all
    .map((row) =>
      row
        .map((cell, at) => {
          // A character may take two columns of a terminal.
          const space = ' '.repeat((widths[at] ?? 0) - stringWidth(cell))
          return isNumber[at] ? space + cell : cell + space
        })
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}
