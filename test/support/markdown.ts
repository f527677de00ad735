/** The rows of the table whose first column has this heading, by their first cell. */
export function tableOf(page: string, heading: string): Map<string, Record<string, string>> {
  const lines = page.split('\n')
  const top = lines.findIndex((line) => cells(line)[0] === heading)
  const names = cells(lines[top] ?? '')
  const rows = new Map<string, Record<string, string>>()
  for (const line of top < 0 ? [] : lines.slice(top + 2)) {
    if (!line.startsWith('|')) break
    const row = cells(line)
    rows.set(row[0] ?? '', Object.fromEntries(names.map((name, index) => [name, row[index] ?? ''])))
  }
  return rows
}

function cells(line: string): string[] {
  return line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim())
}
