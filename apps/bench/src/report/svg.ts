import { parse, View } from 'vega'
import { compile, type TopLevelSpec } from 'vega-lite'

/** The title of a plot, and what it says to those who cannot see it. */
export interface Words {
  readonly title: string
  readonly subtitle: string
  readonly description: string
}

/** Each colour in light and in dark. */
type Pair = readonly [light: string, dark: string]

const COLOURS = {
  paper: ['#ffffff', '#0d1117'],
  text: ['#1f2328', '#e6edf3'],
  muted: ['#59636e', '#a5aeb8'],
  grid: ['#d8dee4', '#2d333b'],
} as const satisfies Record<string, Pair>

/** Sides that occur in several plots have one colour in all of them. */
const SIDES: Readonly<Record<string, Pair>> = {
  Sluice: ['#0969da', '#58a6ff'],
  '@upstash/ratelimit': ['#bc4c00', '#f0883e'],
  'hand-written script': ['#1a7f37', '#3fb950'],
  'bare EVALSHA': ['#57606a', '#afb8c1'],
}

/** The colours of all others, in turn. */
const MORE: readonly Pair[] = [
  ['#8250df', '#bc8cff'],
  ['#bf3989', '#f778ba'],
  ['#9a6700', '#d4a72c'],
  ['#1b7c83', '#39c5cf'],
  ['#cf222e', '#ff7b72'],
]

/** Returns the colour of a side, the `index`th of its plot. */
export function colourOf(side: string, index: number): string {
  const known = SIDES[side]
  return (known ?? MORE[index % MORE.length] ?? COLOURS.muted)[0]
}

export const [PAPER, TEXT] = [COLOURS.paper[0], COLOURS.text[0]]
const MUTED = COLOURS.muted[0]

const CONFIG = {
  aria: false,
  background: PAPER,
  font: "system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif",
  padding: 12,
  view: { stroke: null },
  title: { color: TEXT, fontSize: 15, anchor: 'start', subtitleColor: MUTED },
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
    labelLimit: 320,
  },
  legend: { labelColor: TEXT, labelFontSize: 12, labelLimit: 320, title: null },
} as const satisfies TopLevelSpec['config']

const DARK_RULES = [...Object.values(COLOURS), ...Object.values(SIDES), ...MORE]
  .map(([light, dark]) => `[fill="${light}"]{fill:${dark}}[stroke="${light}"]{stroke:${dark}}`)
  .join('\n')

/**
 * Draws a plot as SVG text. Its colours are light; its style sheet turns them dark where the reader
 * prefers that.
 */
export async function draw(spec: TopLevelSpec, words: Words): Promise<string> {
  const { title, subtitle, description } = words
  const titled = { ...spec, title: { text: title, subtitle }, config: CONFIG } as TopLevelSpec
  const view = new View(parse(compile(titled).spec), { renderer: 'none' })
  const drawn = await view.toSVG()
  view.finalize()
  return `${drawn.replace(
    /^<svg([^>]*)>/,
    (_, attributes: string) => `<svg${attributes} role="img" aria-labelledby="title description">
<title id="title">${escaped(title)}</title>
<desc id="description">${escaped(description)}</desc>
<style>@media (prefers-color-scheme:dark){
${DARK_RULES}
}</style>
`,
  )}\n`
}

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
