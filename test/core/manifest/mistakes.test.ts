import { fixedWindow } from '@sluice/core'
import { describe, expect, it } from 'vitest'
import { mistakesAreNamed, type Mistake } from '../../support/mistakes.ts'
import { limiterOf, loosely } from './support.ts'

const rpm = { algorithm: 'fixedWindow', name: 'rpm', limit: 2, window: '1h', per: ['tenant'] }
const bucket = { ...rpm, algorithm: 'tokenBucket', name: 'bucket' }
const inFlight = { algorithm: 'concurrency', name: 'calls', limit: 2, per: ['tenant'] }
const made = fixedWindow({ name: 'made', limit: 1, window: '1h', per: 'global' })
const POLICY = 'manifest.policies[0]'
const ROUTE = 'manifest.routes[1]'
const OF_ROUTE = `${ROUTE}.policies[0]`

const manifest =
  (fields: object): (() => unknown) =>
  () =>
    loosely({ routes: ['/a'], ...fields })
const policy = (fields: object) => manifest({ policies: [{ ...rpm, ...fields }] })
const route = (fields: object, more: object = {}) =>
  manifest({ policies: [rpm, bucket], routes: ['/a', { path: '/b', ...fields }], ...more })
const override = (fields: unknown, name = 'rpm') => route({ overrides: { [name]: fields } })
const ownPolicy = (fields: object) => route({ policies: [{ ...rpm, name: 'own', ...fields }] })

/** An own property of that name, as `JSON.parse` makes it. */
const proto = (value: unknown): object =>
  JSON.parse(`{"__proto__":${JSON.stringify(value)}}`) as object

const WHOLE: Mistake[] = [
  ['nothing', () => loosely(undefined), 'manifest'],
  ['a list', () => loosely([]), 'manifest'],
  ['null', () => loosely(null), 'manifest'],
  ['no routes', () => loosely({}), 'manifest.routes'],
  ['routes that are none', manifest({ routes: [] }), 'manifest.routes'],
  ['routes that are no list', manifest({ routes: { path: '/a' } }), 'manifest.routes'],
  ['a misspelt key', manifest({ polices: [] }), 'manifest.polices', 'unknown_option'],
  ['a key of a prototype', manifest(proto({})), 'manifest.__proto__', 'unknown_option'],
  ['a base path without its slash', manifest({ basePath: 'api' }), 'manifest.basePath'],
  ['a base path with a slash at its end', manifest({ basePath: '/api/' }), 'manifest.basePath'],
  ['a base path of a slash', manifest({ basePath: '/' }), 'manifest.basePath'],
  ['a base path that is no text', manifest({ basePath: 5 }), 'manifest.basePath'],
  ['a base path that cannot match', manifest({ basePath: '/a;b' }), 'manifest.routes[0].path'],
  ['defaults that are none', manifest({ defaults: null }), 'manifest.defaults'],
  ['a default cost', manifest({ defaults: { cost: -1 } }), 'manifest.defaults.cost'],
  ['default methods', manifest({ defaults: { methods: ['PSOT'] } }), 'manifest.defaults.methods'],
  [
    'a misspelt default',
    manifest({ defaults: { method: ['POST'] } }),
    'manifest.defaults.method',
    'unknown_option',
  ],
]

const POLICIES: Mistake[] = [
  ['policies that are no list', manifest({ policies: rpm }), 'manifest.policies'],
  ['a policy that is a text', manifest({ policies: ['rpm'] }), POLICY],
  ['a policy that is null', manifest({ policies: [null] }), POLICY],
  ['no algorithm', policy({ algorithm: undefined }), `${POLICY}.algorithm`],
  ['an unknown algorithm', policy({ algorithm: 'fixedwindow' }), `${POLICY}.algorithm`],
  ['an algorithm of a prototype', policy({ algorithm: 'constructor' }), `${POLICY}.algorithm`],
  ['an algorithm that is an object', policy({ algorithm: {} }), `${POLICY}.algorithm`],
  ['a factory that was not called', manifest({ policies: [fixedWindow] }), POLICY],
  ['a window', policy({ window: '1 hour' }), `${POLICY}.window`, 'invalid_duration'],
  ['no window', policy({ window: undefined }), `${POLICY}.window`, 'invalid_duration'],
  ['a name', policy({ name: 'a b' }), `${POLICY}.name`],
  ['a limit', policy({ limit: '5' }), `${POLICY}.limit`],
  ['a limit of a fraction', policy({ limit: 1.5 }), `${POLICY}.limit`],
  ['a limit of a plan that is none', policy({ limit: { plan: '' } }), `${POLICY}.limit.plan`],
  [
    'a limit of a misspelt plan',
    policy({ limit: { paln: 'rpm' } }),
    `${POLICY}.limit.paln`,
    'unknown_option',
  ],
  ['nobody that it is per', policy({ per: [] }), `${POLICY}.per`],
  ['a misspelt option', policy({ limits: 5 }), `${POLICY}.limits`, 'unknown_option'],
  ['an option of a prototype', policy(proto(1)), `${POLICY}.__proto__`, 'unknown_option'],
  ['backpressure', policy({ backpressure: { from: 2 } }), `${POLICY}.backpressure.from`],
  ['a backpressure of a number', policy({ backpressure: 2 }), `${POLICY}.backpressure`],
  ['a rollout', policy({ rollout: { enabled: 101 } }), `${POLICY}.rollout.enabled`],
  ['a limit below 0', policy({ limit: -1 }), `${POLICY}.limit`],
  ['a route that there is not', policy({ routes: ['b'] }), `${POLICY}.routes`],
  ['a burst of no bucket', policy({ burst: 5 }), `${POLICY}.burst`, 'unknown_option'],
  ['a burst of 0', manifest({ policies: [{ ...bucket, burst: 0 }] }), `${POLICY}.burst`],
  [
    'how long a call may take',
    manifest({ policies: [{ ...inFlight, maxDuration: 'long' }] }),
    `${POLICY}.maxDuration`,
    'invalid_duration',
  ],
  [
    'a window of several',
    manifest({
      policies: [
        {
          algorithm: 'slidingWindows',
          name: 'p',
          per: ['tenant'],
          windows: { minute: { limit: 5, window: '1  m' } },
        },
      ],
    }),
    `${POLICY}.windows.minute.window`,
    'invalid_duration',
  ],
  [
    'a name that another has',
    manifest({ policies: [made, rpm, { ...rpm, limit: 5 }] }),
    'manifest.policies[2]',
    'duplicate_policy',
  ],
]

const ROUTES: Mistake[] = [
  ['a route that is a number', manifest({ routes: ['/a', 5] }), ROUTE],
  ['a route that is null', manifest({ routes: ['/a', null] }), ROUTE],
  ['no path', route({ path: undefined }), `${ROUTE}.path`],
  ['a path without its slash', route({ path: 'b' }), `${ROUTE}.path`],
  ['a path that cannot match', route({ path: '/b;c' }), `${ROUTE}.path`],
  ['a path that another has', route({ path: '/A' }), `${ROUTE}.path`],
  ['an id that another has', route({ id: '/a' }), `${ROUTE}.id`],
  ['no id', route({ id: '' }), `${ROUTE}.id`],
  ['methods', route({ methods: ['PSOT'] }), `${ROUTE}.methods`],
  ['a cost', route({ cost: NaN }), `${ROUTE}.cost`],
  ['a cost in a unit that nobody counts', route({ cost: { tokens: 5 } }), `${ROUTE}.cost`],
  ['a misspelt key', route({ override: {} }), `${ROUTE}.override`, 'unknown_option'],
  ['a key of a prototype', route(proto({})), `${ROUTE}.__proto__`, 'unknown_option'],
  ['policies that are no list', route({ policies: rpm }), `${ROUTE}.policies`],
  ['a policy’s window', ownPolicy({ window: 0 }), `${OF_ROUTE}.window`, 'invalid_duration'],
  ['a policy’s routes', ownPolicy({ routes: ['/a'] }), `${OF_ROUTE}.routes`],
  ['a policy that another is named like', ownPolicy({ name: 'rpm' }), OF_ROUTE, 'duplicate_policy'],
  ['an rpm', route({ rpm: '5' }), `${ROUTE}.rpm`],
  ['an rpm of a fraction below 0', route({ rpm: -0.5 }), `${ROUTE}.rpm`],
  ['an rpm that nothing can count', route({ rpm: 1e12 }), `${ROUTE}.rpm`],
  ['an rpm that is configured', route({ rpm: 'configured' }), `${ROUTE}.rpm`],
  ['a burst of 0', route({ rpm: 5, burst: 0 }), `${ROUTE}.burst`],
  ['a burst that nothing can count', route({ rpm: 5, burst: 1e12 }), `${ROUTE}.burst`],
  ['a burst of nothing', route({ burst: 5 }), `${ROUTE}.burst`],
  ['somebody, and nothing to count', route({ per: ['user'] }), `${ROUTE}.per`],
  ['nobody', route({ rpm: 5, per: [] }), `${ROUTE}.per`],
  ['a name in place of a list', route({ rpm: 5, per: 'user' }), `${ROUTE}.per`],
  ['everybody by their name', route({ rpm: 5, per: 'global' }), `${ROUTE}.per`],
  [
    'a policy that is named like what rpm is short for',
    route({ rpm: 5, policies: [{ ...rpm, name: 'rpm-per-route' }] }),
    `${ROUTE}.rpm`,
    'duplicate_policy',
  ],
  [
    'an rpm whose policy is named like that of others’ requests',
    manifest({
      routes: [
        { path: '/a', rpm: 5, per: ['api-key'] },
        { path: '/b', rpm: 5, per: ['api', 'key'] },
      ],
    }),
    `${ROUTE}.rpm`,
    'duplicate_policy',
  ],
]

const OVERRIDES: Mistake[] = [
  ['overrides that are none', route({ overrides: 5 }), `${ROUTE}.overrides`],
  ['a policy that there is not', override({ limit: 5 }, 'rmp'), `${ROUTE}.overrides.rmp`],
  ['false of a policy that there is not', override(false, 'rmp'), `${ROUTE}.overrides.rmp`],
  [
    'a policy of a prototype',
    override({ limit: 5 }, 'constructor'),
    `${ROUTE}.overrides.constructor`,
  ],
  ['a policy of __proto__', route({ overrides: proto(false) }), `${ROUTE}.overrides.__proto__`],
  ['true', override(true), `${ROUTE}.overrides.rpm`],
  ['nothing', override({}), `${ROUTE}.overrides.rpm`],
  ['a limit', override({ limit: '5' }), `${ROUTE}.overrides.rpm.limit`],
  ['a limit of a fraction', override({ limit: 0.5 }), `${ROUTE}.overrides.rpm.limit`],
  ['a limit below 0', override({ limit: -1 }), `${ROUTE}.overrides.rpm.limit`],
  ['a limit that is configured', override({ limit: 'configured' }), `${ROUTE}.overrides.rpm.limit`],
  [
    'a limit that its algorithm cannot count',
    override({ limit: 1e12 }, 'bucket'),
    `${ROUTE}.overrides.bucket.limit`,
  ],
  ['a burst of no bucket', override({ burst: 5 }), `${ROUTE}.overrides.rpm.burst`],
  ['a burst of 0', override({ burst: 0 }, 'bucket'), `${ROUTE}.overrides.bucket.burst`],
  [
    'an option that cannot be other',
    override({ window: '1m' }),
    `${ROUTE}.overrides.rpm.window`,
    'unknown_option',
  ],
  [
    'a policy that is for other routes',
    route({ overrides: { rpm: false } }, { policies: [{ ...rpm, routes: ['/a'] }] }),
    `${ROUTE}.overrides.rpm`,
  ],
  [
    'a policy that is to be configured',
    route({ overrides: { rpm: { limit: 5 } } }, { policies: [{ ...rpm, limit: 'configured' }] }),
    `${ROUTE}.overrides.rpm`,
  ],
  [
    'a policy of its own',
    route({ policies: [{ ...rpm, name: 'own' }], overrides: { own: false } }),
    `${ROUTE}.overrides.own`,
  ],
]

describe('a mistake is an error at construction that names its path: in the manifest', () => {
  mistakesAreNamed(WHOLE)
})
describe('in a policy', () => {
  mistakesAreNamed(POLICIES)
})
describe('in a route', () => {
  mistakesAreNamed(ROUTES)
})
describe('in an override', () => {
  mistakesAreNamed(OVERRIDES)
})

it('names that every object has are ordinary names', async () => {
  const limiter = limiterOf(
    loosely({
      policies: [{ ...rpm, name: 'constructor' }],
      routes: [
        { path: '/a', id: 'toString', overrides: { constructor: { limit: 1 } } },
        { path: '/b', id: '__proto__' },
      ],
    }),
  )
  const limits = []
  for (const id of ['toString', '__proto__', 'hasOwnProperty']) {
    const { policies } = await limiter.peek({ tenant: 'acme', route: id })
    limits.push(policies.map(({ limit }) => limit))
  }
  expect(limits).toEqual([[1], [2], [2]])
})
