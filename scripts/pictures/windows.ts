import {
  createLimiter,
  fixedWindow,
  leakyBucket,
  manualClock,
  slidingWindow,
  slidingWindowCounter,
  tokenBucket,
  type Policy,
} from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { line, text, type Drawing } from './svg.ts'

const LIMIT = 6
const options = { limit: LIMIT, window: '1m', per: 'global' } as const

const POLICIES: readonly (readonly [name: string, note: string, policy: Policy])[] = [
  ['fixedWindow', '6 in each minute of the clock', fixedWindow({ ...options, name: 'p' })],
  ['slidingWindow', '6 in any 60 seconds', slidingWindow({ ...options, name: 'p' })],
  ['slidingWindowCounter', 'about 6 in any 60 s', slidingWindowCounter({ ...options, name: 'p' })],
  ['tokenBucket', '6 at once, then one each 10 s', tokenBucket({ ...options, name: 'p' })],
  ['leakyBucket', 'one each 10 s, 6 may wait', leakyBucket({ ...options, name: 'p', burst: 6 })],
]

/** Requests by their second: six late in a minute, six early in the next, then one each five seconds. */
const TIMES = [44, 47, 50, 53, 56, 59, 62, 65, 68, 71, 74, 77, 82, 87, 92, 97, 102, 107, 112, 117]
const [FROM, TO] = [35, 172]
const [LEFT, RIGHT, TOP, ROW] = [236, 684, 58, 52]

/** The same requests at each kind of window, as the limiters in this repository decide them. */
export async function windows(): Promise<Drawing> {
  const rows: string[] = []
  for (const [index, [name, note, policy]] of POLICIES.entries()) {
    const y = TOP + index * ROW
    const outcomes = await decide(policy)
    const allowed = outcomes.filter((outcome) => outcome !== undefined).length
    rows.push(
      text(16, y, name, { bold: true }),
      text(16, y + 18, note, { small: true, colour: 'muted' }),
      line(
        [
          [LEFT, y + 6],
          [RIGHT, y + 6],
        ],
        'line',
        { width: 1 },
      ),
      ...outcomes.map((delay, at) => dot(TIMES[at] ?? 0, delay, y + 6)),
      text(RIGHT, y - 8, `${allowed} of ${TIMES.length} pass`, { anchor: 'end', small: true }),
    )
  }
  const bottom = TOP + POLICIES.length * ROW - 8
  const minutes = [1, 2].map(
    (minute) =>
      line(
        [
          [xOf(minute * 60), 34],
          [xOf(minute * 60), bottom],
        ],
        'line',
        { dashed: true, width: 0.8 },
      ) + text(xOf(minute * 60), 24, `${minute} min`, { anchor: 'middle', small: true }),
  )
  const legend = [
    circle(24, bottom + 22, 'f-good s-good'),
    text(36, bottom + 27, 'passes', { small: true }),
    circle(110, bottom + 22, 'f-paper s-bad'),
    text(122, bottom + 27, 'denied', { small: true }),
    circle(196, bottom + 22, 'f-accent s-accent'),
    text(208, bottom + 27, 'waits, then passes here', { small: true }),
  ]
  return {
    title: 'The windows side by side',
    description:
      'The same twenty requests at a limit of six a minute. A fixed window lets twelve pass within half a minute around its border. A sliding window never lets more than six pass in any 60 seconds. A token bucket lets six pass at once and then one each ten seconds. A leaky bucket delays them.',
    height: bottom + 46,
    body: [...minutes, ...rows, ...legend].join(''),
  }
}

/** The delay of each request in seconds, or `undefined` if it is denied. */
async function decide(policy: Policy): Promise<(number | undefined)[]> {
  const clock = manualClock(0)
  const limiter = createLimiter({ store: memory(), clock, policies: [policy] })
  const outcomes: (number | undefined)[] = []
  for (const second of TIMES) {
    // Any whole minute is a border of the clock's windows.
    clock.set(Date.UTC(2026, 0, 1) + second * 1_000)
    const { allowed, delayMs } = await limiter.check({})
    outcomes.push(allowed ? delayMs / 1_000 : undefined)
  }
  return outcomes
}

function dot(second: number, delay: number | undefined, y: number): string {
  if (delay === undefined) return circle(xOf(second), y, 'f-paper s-bad')
  const colour = delay === 0 ? 'good' : 'accent'
  return circle(xOf(second + delay), delay === 0 ? y : y + 12, `f-${colour} s-${colour}`)
}

const circle = (x: number, y: number, classes: string): string =>
  `<circle cx="${x.toFixed(1)}" cy="${y}" r="4.2" stroke-width="1.5" class="${classes}"/>\n`

const xOf = (second: number): number => LEFT + ((RIGHT - LEFT) * (second - FROM)) / (TO - FROM)
