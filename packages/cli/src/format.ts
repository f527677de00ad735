import { nameText } from '@sluice/core/internal/text'
import { option } from './wording.ts'

/** The longest cell, in characters: one name must not push the others out of sight. */
const MAX_CELL = 60

const cellText = (cell: string): string => {
  const text = nameText(cell)
  return text.length > MAX_CELL ? `${text.slice(0, MAX_CELL - 1)}…` : text
}

/** Returns the line that says how many rows a table leaves out, if any. */
export const moreText = (count: number, top: number): string[] =>
  count > top ? [`and ${count - top} more: ${option('top', String(count))}`] : []

/** Returns a table with aligned columns. Columns of numbers stand at the right. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [head, ...rows.map((row) => row.map(cellText))]
  const widths = head.map((_, at) => Math.max(...all.map((row) => (row[at] ?? '').length)))
  const isNumber = head.map((_, at) =>
    rows.every((row) => /^[-$\d. ]*$|^unlimited$/.test(row[at] ?? '')),
  )
  return all
    .map((row) =>
      row
        .map((cell, at) =>
          isNumber[at] ? cell.padStart(widths[at] ?? 0) : cell.padEnd(widths[at] ?? 0),
        )
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}
