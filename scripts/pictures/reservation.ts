import { line, rect, text, type Drawing, type Point } from './svg.ts'

const LIMIT = 100
const [LEFT, RIGHT, TOP, BOTTOM] = [64, 680, 40, 220]

/** What is charged, after each moment. */
const LEVELS: readonly (readonly [moment: number, units: number])[] = [
  [0, 0],
  [8, 40], // A reserves
  [18, 80], // B reserves
  [48, 52], // A settles: 12 of 40
  [60, 92], // C reserves
  [78, 70], // B settles: 18 of 40
  [90, 65], // C settles: 35 of 40
  [100, 65],
]

const CALLS = [
  { name: 'call A', from: 8, to: 48, note: 'reserves 40, uses 12' },
  { name: 'call B', from: 18, to: 78, note: 'reserves 40, uses 18' },
  { name: 'call C', from: 60, to: 90, note: 'uses 35' },
]

/** Two calls that hold a budget, one that does not fit until the first is settled. */
export function reservation(): Drawing {
  const marks = [0, 50, 100].map(
    (units) =>
      line(
        [
          [LEFT, yOf(units)],
          [RIGHT, yOf(units)],
        ],
        units === LIMIT ? 'bad' : 'line',
        { dashed: units !== 0, width: 1 },
      ) + text(LEFT - 10, yOf(units) + 5, String(units), { anchor: 'end', small: true }),
  )
  const steps = LEVELS.flatMap(([moment, units], index): Point[] => {
    const before = LEVELS[index - 1]?.[1] ?? units
    return [
      [xOf(moment), yOf(before)],
      [xOf(moment), yOf(units)],
    ]
  })
  const area = [...steps, [RIGHT, BOTTOM] as Point, [LEFT, BOTTOM] as Point]
  const fill = `<path d="M${area.map((point) => point.join(' ')).join(' ')}z" class="f-accent" opacity="0.18"/>\n`
  const denied = [
    line(
      [
        [xOf(32), yOf(80)],
        [xOf(32), yOf(120) + 12],
      ],
      'bad',
      { dashed: true },
    ),
    text(xOf(32) + 8, yOf(112), 'C would need 40: denied, charged nothing', {
      colour: 'bad',
      small: true,
    }),
  ]
  const calls = CALLS.map(({ name, from, to, note }, index) => {
    const y = BOTTOM + 30 + index * 30
    const width = xOf(to) - xOf(from)
    const label = `${name}: ${note}`
    return (
      rect(xOf(from), y, width, 22, 'f-panel s-accent', 4) +
      text(xOf(from) + width / 2, y + 16, label, { anchor: 'middle', small: true })
    )
  })
  const words = [
    text(LEFT, 24, 'units charged to the budget', { bold: true }),
    text(RIGHT, yOf(LIMIT) - 6, 'limit', { anchor: 'end', small: true, colour: 'bad' }),
    text(xOf(9), yOf(20), 'A', { small: true }),
    text(xOf(19), yOf(60), 'B', { small: true }),
    text(xOf(49), yOf(62), 'A settles', { small: true }),
    text(xOf(79), yOf(80), 'B settles', { small: true }),
    text(RIGHT - 4, yOf(36), 'C settles', { anchor: 'end', small: true }),
    text(RIGHT, BOTTOM + 132, 'time', { anchor: 'end', small: true, colour: 'muted' }),
    text(LEFT, BOTTOM + 132, 'a bar: reserve, stream, settle', { small: true, colour: 'muted' }),
  ]
  return {
    title: 'Reserve, stream, settle',
    description:
      'Calls A and B reserve 40 of 100 units each. Call C does not fit and is denied. A settles at 12, so C fits. B settles at 18, and C at 35. The level never passes the limit.',
    height: BOTTOM + 146,
    body: [
      ...marks,
      fill,
      line(steps, 'accent', { width: 2.5 }),
      ...denied,
      ...calls,
      ...words,
    ].join(''),
  }
}

const xOf = (moment: number): number => LEFT + ((RIGHT - LEFT) * moment) / 100
const yOf = (units: number): number => BOTTOM - ((BOTTOM - TOP - 20) * units) / LIMIT
