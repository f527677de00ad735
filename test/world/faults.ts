import type { Random } from './random.ts'

/** The fate of one request. */
export interface Fate {
  /** Milliseconds until it arrives. */
  readonly upMs: number
  /** True if it arrives, sooner or later. */
  readonly arrives: boolean
  /** Milliseconds until the answer is back. */
  readonly downMs: number
  readonly answer: Answer
}

/**
 * The answer that comes back: the reply; nothing, ever; a broken connection; a reply that is cut short; or what stands
 * between sends instead of it.
 */
export type Answer = 'reply' | 'nothing' | 'broken' | 'cut' | 'page' | 'busy' | 'failing'

/** The states of a Redis. */
export type Condition = 'up' | 'down' | 'full' | 'read only' | 'loading'

/** Replies of a Redis in trouble, as redis-server 7 gives them. `test/world/recorded.test.ts` compares them. */
export const REFUSALS = {
  full: "OOM command not allowed when used memory > 'maxmemory'.",
  'read only': "READONLY You can't write against a read only replica.",
  loading: 'LOADING Redis is loading the dataset in memory',
} as const

/** Writes that need no memory, which a full Redis still runs. */
export const FREEING = new Set([
  'DEL',
  'UNLINK',
  'EXPIRE',
  'PEXPIRE',
  'PEXPIREAT',
  'HDEL',
  'ZREM',
  'ZREMRANGEBYSCORE',
  'ZREMRANGEBYRANK',
  'ZPOPMIN',
  'PERSIST',
])

/** How likely each trouble is. All are 0 in a calm world. */
export interface Weather {
  /** The share of requests that something happens to. */
  readonly trouble: number
  /** The mean time between incidents of the whole Redis, in milliseconds. 0: never. */
  readonly incidentMs: number
  /** The mean time between deaths of isolates, in milliseconds. 0: never. */
  readonly deathMs: number
  /** True if wall clocks are off, and set. */
  readonly skew: boolean
}

export const CALM: Weather = { trouble: 0, incidentMs: 0, deathMs: 0, skew: false }

/** Draws the weather of a world. One in four is calm, where judges expect the most. */
export function weatherOf(random: Random): Weather {
  if (random.chance(0.25)) return CALM
  return {
    trouble: random.pick([0, 0.005, 0.02, 0.1, 0.3]),
    incidentMs: random.pick([0, 2_000, 10_000, 60_000]),
    deathMs: random.pick([0, 5_000, 30_000]),
    skew: random.chance(0.5),
  }
}

/** Draws the fate of a request. */
export function fateOf(random: Random, { trouble }: Weather): Fate {
  const upMs = random.gap(4)
  const downMs = random.gap(4)
  const calm: Fate = { upMs, downMs, arrives: true, answer: 'reply' }
  if (!random.chance(trouble)) return calm
  const kind = random.weighted({
    'lost before': 3,
    'lost after': 3,
    late: 3,
    'late answer': 2,
    'broken before': 2,
    'broken after': 2,
    cut: 1,
    page: 1,
    busy: 1,
    failing: 1,
    'applied, and failing': 1,
  })
  switch (kind) {
    case 'lost before':
      return { ...calm, arrives: false, answer: 'nothing' }
    case 'lost after':
      return { ...calm, answer: 'nothing' }
    case 'late':
      return { ...calm, upMs: upMs + random.gap(800) }
    case 'late answer':
      return { ...calm, downMs: downMs + random.gap(800) }
    case 'broken before':
      return { ...calm, arrives: false, answer: 'broken' }
    case 'broken after':
      return { ...calm, answer: 'broken' }
    case 'cut':
    case 'page':
      return { ...calm, answer: kind }
    case 'busy':
    case 'failing':
      return { ...calm, arrives: false, answer: kind }
    case 'applied, and failing':
    default:
      return { ...calm, answer: 'failing' }
  }
}
