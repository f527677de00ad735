import type { ReactNode } from 'react'
import type { PlotStyle } from './plot.ts'
import { timeOf } from './words.ts'

const TABLE_ROWS = 12

interface ChartTableProps extends Pick<PlotStyle, 'lines' | 'format'> {
  readonly title: string
  readonly data: readonly (readonly number[])[]
}

/** The latest values of a chart in words and numbers. */
export function ChartTable({ title, lines, data, format }: ChartTableProps): ReactNode {
  const [times = [], ...series] = data
  const first = Math.max(0, times.length - TABLE_ROWS)
  const rows = times
    .slice(first)
    .map((at, row) => ({ at, values: series.map((line) => line[first + row] ?? 0) }))
  return (
    <details className="sluice-table">
      <summary>Latest values as a table</summary>
      <table aria-label={title}>
        <thead>
          <tr>
            <th scope="col">Time</th>
            {lines.map(({ label }) => (
              <th key={label} scope="col">
                {label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.toReversed().map(({ at, values }) => (
            <tr key={at}>
              <th scope="row">{timeOf(at * 1_000)}</th>
              {lines.map(({ label }, index) => (
                <td key={label}>{format(values[index] ?? 0)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  )
}
