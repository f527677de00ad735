/* Outcomes of calls to an upstream, and what they say about it. */

const clientError = (status: number, headers: object = {}): Error =>
  Object.assign(new Error('a client'), { status, headers })

/** Those of a denial by default. */
const OWN_HEADERS = { 'X-RateLimit-Scope': 'tenant', RateLimit: '"rpm";r=0;t=30' }

const withGetter = Object.defineProperty(new Error('odd'), 'status', {
  get: () => {
    throw new Error('a getter')
  },
})

/** Outcomes of calls, and what they say. */
export const OUTCOMES: readonly (readonly [string, unknown, 'well' | 'fails' | 'nothing'])[] = [
  ['200', new Response(null, { status: 200 }), 'well'],
  ['301', new Response(null, { status: 301 }), 'well'],
  ['a value', { status: 500 }, 'well'],
  ['nothing', undefined, 'well'],
  ['400', new Response(null, { status: 400 }), 'nothing'],
  ['404', new Response(null, { status: 404 }), 'nothing'],
  [
    'a 429 of a provider that names a scope',
    new Response(null, { status: 429, headers: { 'X-RateLimit-Scope': 'shared' } }),
    'fails',
  ],
  [
    'a 500 with all headers of a denial',
    new Response(null, { status: 500, headers: OWN_HEADERS }),
    'fails',
  ],
  [
    'an error with its response',
    Object.assign(new Error('ky'), { response: { status: 400 } }),
    'nothing',
  ],
  ['an error whose status throws', withGetter, 'fails'],
  ['408', new Response(null, { status: 408 }), 'fails'],
  ['429', new Response(null, { status: 429 }), 'fails'],
  ['500', new Response(null, { status: 500 }), 'fails'],
  ['529', new Response(null, { status: 529 }), 'fails'],
  [
    'a 429 of our own limiter',
    new Response(null, { status: 429, headers: OWN_HEADERS }),
    'nothing',
  ],
  ['an error of the network', new TypeError('fetch failed'), 'fails'],
  ['a timeout', new DOMException('too late', 'TimeoutError'), 'fails'],
  ['a caller who gives up', new DOMException('stop', 'AbortError'), 'nothing'],
  ["a client's error of status 400", clientError(400), 'nothing'],
  ["a client's error of status 503", clientError(503), 'fails'],
  ["a client's error of our own 429", clientError(429, new Headers(OWN_HEADERS)), 'nothing'],
]
