/* Lines of CSV that a spreadsheet opens without running them. */

/** A number with all its digits. */
interface Decimal {
  readonly decimal: string
}

/** A cell. Numbers are written as they are, even with a minus in front. */
type Cell = string | number | Decimal

/**
 * The start of text that a spreadsheet may run as a formula. Some skip blanks and invisible characters before the
 * sign, and take a full-width sign for a plain one.
 */
const FORMULA = /^(?:[\t\r\n\0]|[\s\p{Cc}\p{Cf}]*[=+\-@＝＋－＠])/u

/** Text that has to be in quotes. A spreadsheet may take semicolons and tabs for the ends of cells, too. */
const QUOTED = /[",;\s\p{Cc}]/u

/** Returns a line of CSV (RFC 4180). Text that a spreadsheet would run as a formula gets an apostrophe in front. */
export function csvLine(cells: readonly Cell[]): string {
  return `${cells.map(writeCell).join(',')}\r\n`
}

function writeCell(cell: Cell): string {
  if (typeof cell === 'number') return String(cell)
  if (typeof cell === 'object') return cell.decimal
  const safe = FORMULA.test(cell) ? `'${cell}` : cell
  return QUOTED.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

/** Converts micro-dollars to dollars, exactly: 0.004200. */
export function dollars(microUsd: number): Decimal {
  const digits = String(Math.abs(microUsd)).padStart(7, '0')
  return { decimal: `${microUsd < 0 ? '-' : ''}${digits.slice(0, -6)}.${digits.slice(-6)}` }
}
