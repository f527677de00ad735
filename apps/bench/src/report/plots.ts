import type { TopLevelSpec } from 'vega-lite'
import { axisOf, type Axis, type Row, type Unit } from '../measure/row.ts'
import type { Result } from './result.ts'
import { comparisons } from './compare.ts'
import { ends, linesOf, listed, ratiosOf, sidesOf, type Mark } from './marks.ts'
import { significant, unitTitle } from './numbers.ts'
import { colourOf, draw, PAPER, TEXT } from './svg.ts'

/** A plot as an SVG file. */
export interface Plot {
  readonly file: string
  readonly title: string
  readonly svg: string
}

/** The contents of a plot, before it is drawn. */
interface Drawing {
  /** Its figures, for those who cannot see it. */
  readonly description: string
  readonly marks: readonly Mark[]
  /** A specification for Vega-Lite without its data and title. */
  readonly spec: object
}

const WIDTH = 420

/**
 * Draws the plots of a result: one for each axis and unit. Rows with `at` become lines over that axis. The
 * others become bars of their figures, or marks of their ratios.
 */
export async function plotsOf(result: Result): Promise<Plot[]> {
  const groups = Map.groupBy(result.rows, ({ at, unit }) => `${axisOf(at) ?? ''} ${unit}`)
  const plots: Plot[] = []
  for (const rows of groups.values()) {
    const { description, marks, spec } = drawing(result, rows)
    const once = rows.every(({ ours }) => ours.values.length < 2)
    const subtitle = once ? 'Measured once' : 'Median and quartiles of the rounds'
    const title = groups.size === 1 ? result.title : `${result.title}: ${topic(rows)}`
    const words = { title, subtitle, description }
    const number = groups.size === 1 ? '' : `-${plots.length + 1}`
    const full = { ...spec, data: { values: [...marks] } } as TopLevelSpec
    plots.push({
      file: `${result.scenario}${number}.svg`,
      title: result.title,
      svg: await draw(full, words),
    })
  }
  return plots
}

function drawing(result: Result, rows: readonly Row[]): Drawing {
  const [{ at, unit } = { at: undefined, unit: 'ms' as const }] = rows
  const axis = axisOf(at)
  if (axis) return lines(result, axis, unit, rows)
  const comparable = comparisons(rows).some(({ ratio }) => ratio !== undefined)
  return comparable && result.plot === 'ratios'
    ? ratioMarks(result, rows)
    : bars(result, unit, rows)
}

/** The subject of the rows of one plot: `microseconds by tenants`. */
function topic([row]: readonly Row[]): string {
  if (row === undefined) return ''
  const axis = axisOf(row.at)
  return `${unitTitle(row.unit)}${axis ? ` by ${axis}` : ''}`
}

function lines({ title }: Result, axis: Axis, unit: Unit, rows: readonly Row[]): Drawing {
  const marks = linesOf(rows, axis)
  const y = { type: 'quantitative', title: unitTitle(unit), scale: scaleOf(marks, unit) } as const
  return {
    description: `${title}, by ${axis}. ${ends(marks, significant)}.`,
    marks,
    spec: {
      width: 560,
      height: 300,
      encoding: {
        x: {
          field: 'at',
          type: 'quantitative',
          title: axis,
          scale: { type: 'log' },
          axis: { format: ',', tickCount: 6 },
        },
        color: colour(marks),
      },
      layer: [
        {
          mark: { type: 'rule', opacity: 0.6, strokeWidth: 3 },
          encoding: { y: { field: 'low', ...y }, y2: { field: 'high' } },
        },
        {
          mark: { type: 'line', point: { size: 40 } },
          encoding: { y: { field: 'median', ...y } },
        },
      ],
    },
  }
}

function bars({ title }: Result, unit: Unit, rows: readonly Row[]): Drawing {
  const marks = sidesOf(rows)
  const scale = scaleOf(marks, unit)
  const x = { type: 'quantitative', title: unitTitle(unit), scale } as const
  return {
    description: `${title}. ${listed(marks, significant)}.`,
    marks,
    spec: rowsOfMarks(marks, [
      {
        // A bar needs a zero to begin at.
        mark: scale.type === 'log' ? { type: 'point', filled: true, size: 70, opacity: 1 } : 'bar',
        encoding: { x: { field: 'median', ...x } },
      },
      {
        mark: { type: 'rule', color: TEXT, strokeWidth: 1.5 },
        encoding: { x: { field: 'low', ...x }, x2: { field: 'high' } },
      },
    ]),
  }
}

function ratioMarks({ title }: Result, rows: readonly Row[]): Drawing {
  const marks = ratiosOf(rows)
  const x = {
    type: 'quantitative',
    title: 'Sluice’s figure ÷ the other’s (1: equal)',
    scale: { type: 'log', nice: true },
    axis: { format: '~g' },
  } as const
  return {
    description: `${title}: Sluice’s figure divided by the other’s. ${listed(marks, (value) => value.toFixed(2))}.`,
    marks,
    spec: rowsOfMarks(marks, [
      {
        mark: { type: 'rule', strokeWidth: 2 },
        encoding: { x: { field: 'low', ...x }, x2: { field: 'high' } },
      },
      {
        mark: {
          type: 'point',
          filled: true,
          size: 70,
          opacity: 1,
          stroke: PAPER,
          strokeWidth: 0.5,
        },
        encoding: { x: { field: 'median', ...x } },
      },
      { mark: { type: 'rule', color: TEXT, strokeDash: [4, 3] }, encoding: { x: { datum: 1 } } },
    ]),
  }
}

/** A line for each side, below the name of the job. */
function rowsOfMarks(
  marks: readonly Mark[],
  layers: readonly { mark: unknown; encoding: object }[],
): object {
  const y = {
    y: {
      field: 'job',
      type: 'nominal',
      title: null,
      sort: null,
      axis: { grid: true, labelLimit: 320 },
    },
    yOffset: { field: 'side', sort: null },
  }
  const layer = layers.map(({ mark, encoding }) => ({
    mark,
    encoding: {
      ...encoding,
      ...('x' in encoding && 'datum' in (encoding.x as object)
        ? {}
        : { ...y, color: colour(marks) }),
    },
  }))
  return { width: WIDTH, height: { step: 16 }, layer }
}

/** One colour a side, in the order in which they appear. */
function colour(marks: readonly Mark[]) {
  const domain = [...new Set(marks.map(({ side }) => side))]
  return {
    field: 'side',
    type: 'nominal',
    legend: { orient: 'bottom', columns: 3, symbolOpacity: 1 },
    scale: { domain, range: domain.map(colourOf) },
  } as const
}

/** From 0, or logarithmic where the largest figure is many times the smallest. Dollars add up: from 0. */
function scaleOf(
  marks: readonly Mark[],
  unit: Unit,
): { type: 'log' } | { type: 'linear'; zero: true } {
  const medians = marks.map(({ median }) => median)
  const smallest = Math.min(...medians)
  return unit !== 'dollars per million' && smallest > 0 && Math.max(...medians) > 30 * smallest
    ? { type: 'log' }
    : { type: 'linear', zero: true }
}
