import { useEffect, useMemo, useRef, type ReactNode } from 'react'
import uPlot from 'uplot'
import { ChartTable } from './chart-table.tsx'
import { PLOT_HEIGHT, plotOptions, type Line, type PlotStyle } from './plot.ts'
import { stackedOf } from './series.ts'

interface ChartProps extends PlotStyle {
  readonly title: string
  /** A sentence with what the chart shows now, for those who do not see it. */
  readonly summary: string
  /** The times in seconds since the epoch, then the values of each line. */
  readonly data: readonly (readonly number[])[]
}

/** A chart over time, a legend, and the same numbers as a table. */
export function Chart({
  title,
  summary,
  lines,
  data,
  format,
  formatAxis,
  leastTop,
  isStacked = false,
}: ChartProps): ReactNode {
  const box = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot>(undefined)
  const drawn = useMemo(() => (isStacked ? stackedOf(data) : data), [data, isStacked])
  const latest = useRef(drawn)
  latest.current = drawn
  const key = JSON.stringify([lines, leastTop])

  useEffect(() => {
    const element = box.current
    if (!element) return undefined
    const draw = (): void => {
      plot.current?.destroy()
      const options = plotOptions(element, { lines, format, formatAxis, leastTop, isStacked })
      plot.current = new uPlot(options, latest.current as uPlot.AlignedData, element)
    }
    draw()
    const scheme = matchMedia('(prefers-color-scheme: dark)')
    scheme.addEventListener('change', draw)
    const resize = new ResizeObserver(() =>
      plot.current?.setSize({ width: element.clientWidth, height: PLOT_HEIGHT }),
    )
    resize.observe(element)
    return () => {
      scheme.removeEventListener('change', draw)
      resize.disconnect()
      plot.current?.destroy()
      plot.current = undefined
    }
    // `key` has all that `lines` and `leastTop` say.
  }, [key, format, formatAxis, isStacked])

  useEffect(() => plot.current?.setData(drawn as uPlot.AlignedData), [drawn])

  return (
    <figure className="sluice-chart" aria-label={title}>
      <figcaption>
        <h3>{title}</h3>
        <ul className="sluice-legend">
          {lines.map((line) => (
            <LegendEntry key={line.label} line={line} />
          ))}
        </ul>
      </figcaption>
      <div ref={box} role="img" aria-label={`${title}. ${summary}`} className="sluice-plot" />
      <ChartTable title={title} lines={lines} data={data} format={format} />
    </figure>
  )
}

function LegendEntry({ line: { label, color, fill, dash } }: { readonly line: Line }): ReactNode {
  const style = { color: `var(${color})`, borderTopStyle: dash ? 'dashed' : 'solid' } as const
  return (
    <li>
      <i className={fill && `sluice-${fill}`} style={style} />
      {label}
    </li>
  )
}
