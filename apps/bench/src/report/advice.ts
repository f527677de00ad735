import type { Figures, Place } from './figures.ts'
import { grid } from './table.ts'

/** The advice of the performance page, with the figures behind it. */
interface Advice {
  readonly if: string
  readonly choose: string
  readonly because: (figures: Figures) => string
  /** Returns true if the figures support it; a test asks. */
  readonly holds: (figures: Figures) => boolean
}

const dollars = (title: string): Place => ({ scenario: 'dollars', title })
const bytes = (title: string, limit: number): Place => ({
  scenario: 'work',
  title,
  unit: 'bytes',
  at: { limit },
})

const ALLOWED = dollars('slidingWindow, allowed')
const DENIED = dollars('slidingWindow, denied')
const CACHED = dollars('slidingWindow, denied, with a deny cache')
const COUNTED = dollars('fixedWindow, allowed')
const LEASED = dollars('fixedWindow for everyone, leased')
const PEER = '@upstash/ratelimit'
const TWO: Place = { scenario: 'sequential', title: 'daily cap and window' }
const BATCHED: Place = {
  scenario: 'in-flight',
  title: 'AI job, 1,000 tenants',
  unit: 'decisions/s',
}
const SINGLE = 'Sluice, a request for each'
const TCP: Place = { scenario: 'tcp', title: 'one after the other' }

export const ADVICE: readonly Advice[] = [
  {
    if: 'a limit must hold',
    choose: '[`slidingWindow`](policies.md#which-to-use)',
    because: (figures) =>
      `exact, ${figures.text(ALLOWED)} per million; ${figures.text(bytes('slidingWindow', 100))} per tenant at a limit of 100`,
    holds: (figures) => figures.value(bytes('slidingWindow', 100)) < 10_000,
  },
  {
    if: 'it must hold, with hundreds a window for each of many tenants',
    choose: '[`packed`](policies.md#a-log-in-one-string)',
    because: (figures) =>
      `exact, too: ${figures.text(bytes('packed', 1_000))} per tenant at a limit of 1,000 instead of ${figures.text(bytes('slidingWindow', 1_000))}`,
    holds: (figures) =>
      figures.value(bytes('packed', 1_000)) * 10 < figures.value(bytes('slidingWindow', 1_000)),
  },
  {
    if: 'a limit of thousands, or one for everyone',
    choose:
      '[`coarse`](policies.md#a-log-in-one-string) or [`slidingWindowCounter`](policies.md#which-to-use)',
    because: (figures) =>
      `${figures.text(bytes('coarse', 10_000))} and ${figures.text(bytes('slidingWindowCounter', 10_000))} per tenant at a limit of 10,000, \`slidingWindow\` ${figures.text(bytes('slidingWindow', 10_000))}`,
    holds: (figures) =>
      figures.value(bytes('coarse', 10_000)) * 100 < figures.value(bytes('slidingWindow', 10_000)),
  },
  {
    if: 'several limits apply to a request',
    choose: 'one limiter with all policies',
    because: (figures) =>
      `one round trip: ${figures.ratio(TWO, PEER).toFixed(2)} of the time of two limiters of \`${PEER}\``,
    holds: (figures) => figures.ratio(TWO, PEER) < 1,
  },
  {
    if: 'a server decides many requests at once',
    choose: '[`batched`](fewer-trips.md#share-script-calls)',
    because: (figures) =>
      `64 in flight: ${figures.text(BATCHED)}, ${figures.ratio(BATCHED, PEER).toFixed(2)} × \`${PEER}\`; one caller waits no longer`,
    holds: (figures) => figures.ratio(BATCHED, SINGLE) > 1,
  },
  {
    if: 'tenants go on after a denial',
    choose: '[a deny cache](fewer-trips.md#cache-denials)',
    because: (figures) =>
      `${figures.text(CACHED)} per million denials instead of ${figures.text(DENIED)}`,
    holds: (figures) => figures.value(CACHED) * 10 < figures.value(DENIED),
  },
  {
    if: 'each process meets a limit many times a second',
    choose: '[a lease](fewer-trips.md#lease-units-to-each-process)',
    because: (figures) =>
      `${figures.text(LEASED)} per million decisions instead of ${figures.text(COUNTED)}; some units stay unused`,
    holds: (figures) => figures.value(LEASED) * 10 < figures.value(COUNTED),
  },
  {
    if: 'a lasting server is near a Redis of yours',
    choose: '[TCP](redis.md)',
    because: (figures) =>
      `${figures.text(TCP)} per decision, over HTTP ${figures.text({ scenario: 'sequential', title: 'one window' })}`,
    holds: (figures) =>
      figures.value(TCP) < figures.value({ scenario: 'sequential', title: 'one window' }),
  },
  {
    if: 'functions run in one region',
    choose: '[the database there](production.md#choose-a-region)',
    because: (figures) =>
      `a trip elsewhere takes 10 to 200 ms; all that Sluice adds to a bare call on loopback is ${extra(figures).toFixed(2)} ms`,
    holds: (figures) => extra(figures) < 10,
  },
  {
    if: 'functions run everywhere',
    choose: '[one region, no read regions](production.md#choose-a-region); leases',
    because: () => 'all decisions write in the primary region; a lease decides where it is',
    holds: (figures) => figures.value(LEASED) < figures.value(COUNTED),
  },
]

/** The milliseconds of a check beyond those of a bare call. */
function extra(figures: Figures): number {
  const ratio = figures.ratio(TWO, 'bare EVALSHA')
  return figures.value(TWO) * (1 - 1 / ratio)
}

/** Formats the advice as a Markdown table. */
export const adviceTable = (figures: Figures): string =>
  grid(
    ['if', 'choose', 'because'],
    ADVICE.map((advice) => [advice.if, advice.choose, advice.because(figures)]),
  )
