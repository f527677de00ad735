/** A drawing: its size, and what it says to those who cannot see it. */
export interface Drawing {
  readonly title: string
  readonly description: string
  readonly height: number
  readonly body: string
}

/** All pictures are this wide, so that their letters are as large as those of the page. */
const WIDTH = 700

const LIGHT = {
  paper: '#ffffff',
  panel: '#f6f8fa',
  text: '#1f2328',
  muted: '#59636e',
  line: '#818b98',
  accent: '#0969da',
  good: '#1a7f37',
  bad: '#cf222e',
}
const DARK: typeof LIGHT = {
  paper: '#0d1117',
  panel: '#1b222c',
  text: '#e6edf3',
  muted: '#a5aeb8',
  line: '#8b949e',
  accent: '#58a6ff',
  good: '#3fb950',
  bad: '#ff7b72',
}

/** The colours by name; `s-` strokes with them, `f-` fills. */
const names = Object.keys(LIGHT) as (keyof typeof LIGHT)[]
export type Colour = keyof typeof LIGHT

const variables = (colours: typeof LIGHT): string =>
  names.map((name) => `--${name}:${colours[name]}`).join(';')

const STYLE = `:root{${variables(LIGHT)}}
@media (prefers-color-scheme:dark){:root{${variables(DARK)}}}
text{font:14px system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif;fill:var(--text)}
.bold{font-weight:600}
.small{font-size:13px}
${names.map((name) => `.f-${name}{fill:var(--${name})}.s-${name}{stroke:var(--${name})}`).join('\n')}`

/** Renders a drawing as an SVG file, in light and dark by the reader's setting. */
export function svg({ title, description, height, body }: Drawing): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-labelledby="title description">
<title id="title">${escape(title)}</title>
<desc id="description">${escape(description)}</desc>
<style>
${STYLE}
</style>
<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path class="f-line" d="M0 0 8 4 0 8z"/></marker></defs>
<rect class="f-paper" width="${WIDTH}" height="${height}" rx="6"/>
${body.trim()}
</svg>
`
}

interface TextStyle {
  readonly anchor?: 'start' | 'middle' | 'end'
  readonly colour?: Colour
  readonly bold?: boolean
  readonly small?: boolean
}

export function text(x: number, y: number, content: string, style: TextStyle = {}): string {
  const { anchor = 'start', colour, bold, small } = style
  const classes = [colour && `f-${colour}`, bold && 'bold', small && 'small'].filter(Boolean)
  const attributes = classes.length > 0 ? ` class="${classes.join(' ')}"` : ''
  return `<text x="${round(x)}" y="${round(y)}" text-anchor="${anchor}"${attributes}>${escape(content)}</text>\n`
}

/** A box with a bold first line, and smaller lines below it. */
export function box(
  x: number,
  y: number,
  width: number,
  height: number,
  lines: readonly string[],
  colour: Colour = 'line',
): string {
  const top = y + height / 2 - ((lines.length - 1) * 18) / 2 + 5
  const words = lines.map((content, index) =>
    text(x + width / 2, top + index * 18, content, {
      anchor: 'middle',
      ...(index === 0 ? { bold: true } : { small: true }),
    }),
  )
  return rect(x, y, width, height, `f-panel s-${colour}`, 6) + words.join('')
}

export function rect(
  x: number,
  y: number,
  width: number,
  height: number,
  classes: string,
  radius = 0,
): string {
  return `<rect x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}" rx="${radius}" class="${classes}"/>\n`
}

/** A line with a head, through the points. */
export function arrow(points: readonly Point[], dashed = false): string {
  return line(points, 'line', { head: true, dashed })
}

export type Point = readonly [x: number, y: number]

export function line(
  points: readonly Point[],
  colour: Colour,
  { head = false, dashed = false, width = 1.5 } = {},
): string {
  const path = points.map(([x, y]) => `${round(x)} ${round(y)}`).join(' ')
  const more = `${head ? ' marker-end="url(#head)"' : ''}${dashed ? ' stroke-dasharray="5 4"' : ''}`
  return `<path d="M${path}" fill="none" stroke-width="${width}" class="s-${colour}"${more}/>\n`
}

const round = (value: number): number => Math.round(value * 10) / 10

const escape = (content: string): string =>
  content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
