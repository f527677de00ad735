import { dailyCap, fixedWindow, monthlyCap } from '@sluice/core'
import { calendar } from '@sluice/core/calendars'
import { defineManifest, type Manifest } from '@sluice/core/manifest'
import { describe, expect, it } from 'vitest'
import { mistakesAreNamed, type Mistake } from '../../support/mistakes.ts'
import { setUp } from '../../support/limiters.ts'
import { loosely } from './support.ts'

const common = { name: 'quota', limit: 2, per: ['tenant'] } as const
const PLAIN: Record<string, [policy: Record<string, unknown>, made: Parameters<typeof setUp>[0]]> =
  {
    fixedWindow: [
      { every: 'week', zone: 'Europe/Berlin', on: { weekday: 'friday', hour: 6 } },
      [
        fixedWindow({
          ...common,
          resets: calendar({
            every: 'week',
            zone: 'Europe/Berlin',
            on: { weekday: 'friday', hour: 6 },
          }),
        }),
      ],
    ],
    dailyCap: [
      { zone: 'Asia/Tokyo' },
      [dailyCap({ ...common, resets: calendar({ zone: 'Asia/Tokyo' }) })],
    ],
    monthlyCap: [
      { zone: 'America/New_York', anchor: '2026-01-31T06' },
      [
        monthlyCap({
          ...common,
          resets: calendar({ zone: 'America/New_York', anchor: '2026-01-31T06' }),
        }),
      ],
    ],
  }

describe.each(Object.entries(PLAIN))('resets of a %s in a manifest', (algorithm, [plain, made]) => {
  it.each(['every route', 'one route'])('are plain data, as in JSON, for %s', async (where) => {
    const policy = { algorithm, ...common, resets: plain }
    const manifest =
      where === 'one route'
        ? { routes: [{ path: '/a', policies: [policy] }] }
        : { policies: [policy], routes: ['/a'] }
    const text = JSON.stringify(manifest)
    const { policies } = defineManifest(JSON.parse(text) as Manifest, { calendar })
    const call = { tenant: 'acme', route: '/a' }
    const [own, expected] = await Promise.all(
      [policies, made].map((list) => setUp(list).limiter.check(call)),
    )
    expect(own?.policies[0]?.resetsAt).toMatch(/\[(Europe|Asia|America)\//)
    expect(own?.policies).toEqual(expected?.policies)
  })
})

it('a manifest in code has calendars that were made, without the second argument', async () => {
  const { policies } = defineManifest({
    policies: [{ algorithm: 'dailyCap', ...common, resets: calendar({ zone: 'Asia/Tokyo' }) }],
    routes: ['/a'],
  })
  const decision = await setUp(policies).limiter.check({ tenant: 'acme', route: '/a' })
  expect(decision.policies[0]?.resetsAt).toMatch(/Asia\/Tokyo/)
})

const withResets = (resets: unknown, parts?: object, algorithm = 'dailyCap') =>
  loosely({ policies: [{ algorithm, ...common, resets }], routes: ['/a'] }, parts)
const RESETS = 'manifest.policies[0].resets'

const MISTAKES: Mistake[] = [
  ['plain data without calendar', () => withResets({ zone: 'UTC' }), RESETS],
  ['a text', () => withResets('Asia/Tokyo', { calendar }), RESETS],
  ['null', () => withResets(null, { calendar }), RESETS],
  ['a zone that is none', () => withResets({ zone: 'Asia/Tokio' }, { calendar }), `${RESETS}.zone`],
  [
    'a start that is none',
    () => withResets({ on: { hour: 24 } }, { calendar }),
    `${RESETS}.on.hour`,
  ],
  ['another period', () => withResets({ every: 'week' }, { calendar }), `${RESETS}.every`],
  ['no period', () => withResets({ zone: 'UTC' }, { calendar }, 'fixedWindow'), `${RESETS}.every`],
  [
    'an unknown option',
    () => withResets({ tz: 'UTC' }, { calendar }),
    `${RESETS}.tz`,
    'unknown_option',
  ],
  [
    'an unknown part',
    () => withResets({}, { calendars: calendar }),
    'defineManifest.calendars',
    'unknown_option',
  ],
]

describe('a mistake in the calendar of a manifest is an error that names the option', () => {
  mistakesAreNamed(MISTAKES)
})

it('names the remedy for plain data', () => {
  expect(() => withResets({ zone: 'UTC' })).toThrow(
    `${RESETS}: must be created by calendar, or as data: defineManifest(manifest, { calendar })`,
  )
})

it('types state where resets may be', () => {
  const manifest: Manifest = {
    policies: [
      { algorithm: 'dailyCap', ...common, resets: { zone: 'UTC' } },
      { algorithm: 'fixedWindow', ...common, resets: { every: 'week' } },
      // @ts-expect-error -- a window or resets, not both
      { algorithm: 'fixedWindow', ...common, window: '1d', resets: { every: 'week' } },
      // @ts-expect-error -- windows that slide have no calendar
      { algorithm: 'slidingWindow', ...common, window: '1d', resets: { every: 'week' } },
    ],
    routes: ['/a'],
  }
  expect(manifest.policies).toHaveLength(4)
})
