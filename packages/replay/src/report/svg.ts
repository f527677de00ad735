import { parse, View } from 'vega'
import { compile, type TopLevelSpec } from 'vega-lite'
import { escapeHtml } from './escape-html.ts'

/** Each colour in light and in dark. */
type Pair = readonly [light: string, dark: string]

type Colour = 'text' | 'muted' | 'grid' | 'allowed' | 'denied'

/** The colours of plots. Those of text have a contrast of at least 4.5 to the paper, those of marks 3. */
export const COLOURS: Readonly<Record<Colour, Pair>> = {
  text: ['#1f2328', '#e6edf3'],
  muted: ['#59636e', '#a5aeb8'],
  grid: ['#d8dee4', '#2d333b'],
  allowed: ['#0969da', '#58a6ff'],
  denied: ['#bc4c00', '#f0883e'],
}

const [TEXT, MUTED] = [COLOURS.text[0], COLOURS.muted[0]]

const CONFIG = {
  aria: false,
  background: 'transparent',
  font: "system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif",
  padding: 8,
  view: { stroke: null },
  axis: {
    labelColor: TEXT,
    titleColor: TEXT,
    labelFontSize: 12,
    titleFontSize: 12,
    titleFontWeight: 'normal',
    titlePadding: 8,
    gridColor: COLOURS.grid[0],
    domainColor: MUTED,
    tickColor: MUTED,
    labelLimit: 200,
  },
  legend: { labelColor: TEXT, labelFontSize: 12, title: null, orient: 'top' },
} as const satisfies TopLevelSpec['config']

/** The style rules that turn the colours of all plots of a page dark. */
export const DARK_RULES: string = Object.values(COLOURS)
  .map(([light, dark]) => `[fill="${light}"]{fill:${dark}}[stroke="${light}"]{stroke:${dark}}`)
  .join('\n')

const MARK_ROLES = / (?:role|aria-[a-z]+)="[^"]*"/g

/** Draws a plot as an SVG element. @param label Its text for those who cannot see it. */
export async function drawSvg(spec: TopLevelSpec, label: string): Promise<string> {
  const view = new View(parse(compile({ ...spec, config: CONFIG }).spec), { renderer: 'none' })
  const svg = await view.toSVG()
  view.finalize()
  // The plot is one image: marks without texts of their own have no role.
  return svg
    .replaceAll(MARK_ROLES, '')
    .replace(
      /^<svg([^>]*)>/,
      (_, attributes: string) => `<svg${attributes} role="img" aria-label="${escapeHtml(label)}">`,
    )
}
