/** A table of texts. The first column is aligned left, all others right. */
export interface Table {
  readonly head: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

/** Draws a table for a terminal. */
export function drawTable({ head, rows: cells }: Table): string {
  // A name may have lines of its own.
  const rows = cells.map((row) => row.map((cell) => cell.replaceAll(/[\r\n]/g, '�')))
  const widths = head.map((name, index) =>
    Math.max(...[name, ...rows.map((row) => row[index] ?? '')].map((cell) => cell.length)),
  )
  const draw = (row: readonly string[]): string =>
    row
      .map((cell, index) =>
        index === 0 ? cell.padEnd(widths[index] ?? 0) : cell.padStart(widths[index] ?? 0),
      )
      .join('  ')
      .trimEnd()
  const line = widths.map((width) => '─'.repeat(width)).join('──')
  return [draw(head), line, ...rows.map(draw)].join('\n')
}
