import { deniedBy, describe, isAllowed } from './checks.mjs'

const BAR_WIDTH = 30
/** The widths of a bar in a chart, and of the text beside it. */
const CHART_BAR_WIDTH = 20
const CHART_TEXT_WIDTH = 10

/** Shows the progress of a scenario: a bar on a terminal, one line at the end elsewhere. */
export function progress(title, total, out = process.stdout) {
  const startedAt = performance.now()
  let done = 0
  const draw = () => {
    const filled = Math.min(BAR_WIDTH, Math.floor((done / total) * BAR_WIDTH))
    const bar = '█'.repeat(filled) + '░'.repeat(BAR_WIDTH - filled)
    out.write(`\r  ${bar} ${done}/${total}`)
  }
  out.write(`${title}\n`)
  return {
    step() {
      done += 1
      if (out.isTTY) draw()
    },
    end() {
      const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
      out.write(`${out.isTTY ? '\r\u001b[2K' : ''}  ${done} requests in ${seconds} s\n`)
    },
  }
}

/** Formats a table with one line for each tenant. */
export function table(scenarioRecords) {
  const rows = [['tenant', 'plan', 'sent', 'allowed', 'denied', 'first Retry-After']]
  for (const [{ tenants }, records] of scenarioRecords) {
    for (const [tenant, plan] of Object.entries(tenants)) {
      const answers = records.filter((record) => record.tenant === tenant)
      const allowed = answers.filter(isAllowed).length
      const firstDenial = answers.find((record) => record.status === 429)
      const wait = firstDenial ? `${firstDenial.retryAfter} s` : '-'
      const denials = describe(deniedBy(answers))
      rows.push([tenant, plan, `${answers.length}`, `${allowed}`, denials, wait])
    }
  }
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)))
  const lines = rows.map((row) => row.map((cell, column) => pad(cell, widths, column)).join('  '))
  lines.splice(1, 0, widths.map((width) => '─'.repeat(width)).join('  '))
  return lines.join('\n')
}

const NUMBER_COLUMNS = new Set([2, 3])

function pad(cell, widths, column) {
  const width = widths[column]
  if (NUMBER_COLUMNS.has(column)) return cell.padStart(width)
  return column === widths.length - 1 ? cell : cell.padEnd(width)
}

/** Formats a line for each row: its title, and for each of two heads a bar with a text. */
export function chart(heads, rows) {
  const lines = [['', ...heads], ...rows.map(([title, ...bars]) => [title, ...bars.map(chartBar)])]
  const widths = [CHART_BAR_WIDTH, CHART_BAR_WIDTH + CHART_TEXT_WIDTH, 0]
  return lines
    .map((cells) =>
      cells
        .map((cell, column) => cell.padEnd(widths[column]))
        .join(' ')
        .trimEnd(),
    )
    .join('\n')
}

/** Formats a share from 0 to 1 as a bar with a text. */
const chartBar = ({ share, text }) =>
  `${'█'.repeat(Math.round(share * CHART_BAR_WIDTH))} ${text}`.trimStart()

/** Returns the median milliseconds of allowed and of denied answers. */
export function latencies(records) {
  const denied = records.filter((record) => record.status === 429)
  return { allowed: median(records.filter(isAllowed)), denied: median(denied) }
}

function median(records) {
  const times = records.map(({ startedAt, endedAt }) => endedAt - startedAt)
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)]?.toFixed(0)
}
