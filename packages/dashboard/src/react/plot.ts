import uPlot from 'uplot'

/** A line of a chart. Colors are names of CSS variables, so that they follow the color scheme. */
export interface Line {
  readonly label: string
  readonly color: string
  /** The area below it. A second sign beside the color: lines of one chart differ in `fill` or `dash`. */
  readonly fill?: 'plain' | 'hatched'
  readonly dash?: boolean
}

export interface PlotStyle {
  readonly lines: readonly Line[]
  readonly format: (value: number) => string
  /** Formats a label of the vertical axis, whose labels are so far apart. @default format */
  readonly formatAxis?: ((value: number, step: number) => string) | undefined
  /** The least value at the top of the vertical axis. */
  readonly leastTop: number
  /** True if each line adds to the one before: what is drawn of it is the area between both. */
  readonly isStacked?: boolean
}

export const PLOT_HEIGHT = 190

/** The distances between labels, which are round: whole numbers, or micro-dollars. */
const STEPS = Array.from({ length: 14 }, (_, power) => 10 ** power).flatMap((ten) => [
  ten,
  2 * ten,
  5 * ten,
])
const AXIS_FONT = '12px system-ui, sans-serif'
const stepped = uPlot.paths.stepped?.({ align: 1 })

export function plotOptions(element: HTMLElement, style: PlotStyle): uPlot.Options {
  const { lines, format, formatAxis = format, leastTop, isStacked } = style
  const grid = { stroke: resolveColor(element, '--sluice-line'), width: 1 }
  const stroke = resolveColor(element, '--sluice-soft')
  const axis = { stroke, font: AXIS_FONT, grid, ticks: { show: false } }
  return {
    width: element.clientWidth,
    height: PLOT_HEIGHT,
    cursor: { show: false },
    legend: { show: false },
    // The last label of the time is as wide as that on both sides.
    padding: [8, 26, 0, 0],
    scales: {
      x: { time: true },
      y: { range: (_, __, most) => [0, Math.max(leastTop, most * 1.1)] },
    },
    axes: [
      { ...axis, size: 26, space: 80, values: '{HH}:{mm}:{ss}' },
      {
        ...axis,
        size: 60,
        space: 34,
        incrs: STEPS,
        values: (_, values, __, ___, step) => values.map((value) => formatAxis(value, step)),
      },
    ],
    ...(isStacked && {
      bands: lines.slice(1).map((_, index) => ({ series: [index + 1, index + 2] })),
    }),
    series: [
      {},
      ...(isStacked ? lines.toReversed() : lines).map((line) =>
        seriesOf(line, resolveColor(element, line.color)),
      ),
    ],
  }
}

function seriesOf({ label, fill, dash }: Line, stroke: string): uPlot.Series {
  const pale = stroke.replace(/^rgb\((.*)\)$/, 'rgba($1, 0.18)')
  return {
    label,
    stroke,
    width: 2,
    points: { show: false },
    ...(stepped && { paths: stepped }),
    ...(fill && { fill: fill === 'plain' ? pale : ({ ctx }) => hatching(ctx, stroke) ?? pale }),
    ...(dash && { dash: [6, 4] }),
  }
}

const HATCH_SIZE = 8

/** Returns diagonal stripes; `null` if the browser makes none. */
function hatching({ canvas }: CanvasRenderingContext2D, color: string): CanvasPattern | null {
  const tile = canvas.ownerDocument.createElement('canvas')
  tile.width = tile.height = HATCH_SIZE
  const pen = tile.getContext('2d')
  if (!pen) return null
  pen.strokeStyle = color
  pen.globalAlpha = 0.6
  // The stripe goes on in the tiles beside.
  for (const shift of [-HATCH_SIZE, 0, HATCH_SIZE]) {
    pen.moveTo(shift - 1, HATCH_SIZE + 1)
    pen.lineTo(shift + HATCH_SIZE + 1, -1)
  }
  pen.stroke()
  return pen.createPattern(tile, 'repeat')
}

/** A canvas knows neither variables nor `light-dark()`: the browser resolves them for an element. */
function resolveColor(element: HTMLElement, name: string): string {
  const probe = document.createElement('span')
  probe.style.color = `var(${name})`
  element.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}
