import { arrow, box, line, rect, text, type Drawing } from './svg.ts'

const COLUMNS = [90, 290, 490]

/** What `onStoreError: 'local'` means with three isolates, while Redis answers and while it does not. */
export function localCounts(): Drawing {
  const above = COLUMNS.map((x, index) => box(x, 44, 120, 40, [`isolate ${index + 1}`])).join('')
  const trips = COLUMNS.map((x) =>
    arrow([
      [x + 60, 84],
      [350 + (x - 290) * 0.25, 118],
    ]),
  )
  const below = COLUMNS.map((x, index) => box(x, 276, 120, 40, [`isolate ${index + 1}`])).join('')
  const broken = COLUMNS.map((x) =>
    line(
      [
        [x + 60, 368],
        [350 + (x - 290) * 0.25, 396],
      ],
      'bad',
      { dashed: true },
    ),
  )
  const meters = COLUMNS.map((x) => meter(x, 324, 120, '20 of 20'))
  return {
    title: 'What “local” means with three isolates',
    description:
      'With a limit of 20: while Redis answers, three isolates share one count of 20. While it does not, each isolate counts up to 20 for itself, so up to 60 pass.',
    height: 470,
    body: [
      text(20, 26, 'Redis answers: one count for all', { bold: true }),
      above,
      ...trips,
      box(240, 118, 220, 44, ['Redis'], 'accent'),
      meter(240, 170, 220, '20 of 20'),
      text(476, 188, '20 pass', { bold: true, colour: 'good' }),
      line(
        [
          [20, 226],
          [680, 226],
        ],
        'line',
        { width: 1 },
      ),
      text(20, 256, 'Redis does not answer: a count for each', { bold: true }),
      below,
      ...meters,
      ...broken,
      box(240, 396, 220, 44, ['Redis, out of reach'], 'bad'),
      text(476, 424, 'up to 60 pass', { bold: true, colour: 'bad' }),
    ].join(''),
  }
}

/** A full bar with its count. */
function meter(x: number, y: number, width: number, count: string): string {
  return (
    rect(x, y, width, 26, 'f-accent', 4).replace('/>', ' opacity="0.22"/>') +
    text(x + width / 2, y + 18, count, { anchor: 'middle', small: true })
  )
}
