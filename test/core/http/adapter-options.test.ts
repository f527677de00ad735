import { rateLimit as rateLimitWorker, rateLimitQueue } from '@sluice/cloudflare'
import { rateLimit } from '@sluice/core/http'
import { describe } from 'vitest'
import { mistakesAreNamed } from '../../support/mistakes.ts'
import { perMinute, subject } from './support.ts'

const limiter = perMinute(1)
const limiterFor = () => limiter
const options = { routes: ['/**'], subject }
const respond = () => new Response()
const whose = () => ({ tenant: 'acme' })

/** Calls with arguments that TypeScript would refuse, as JavaScript does. */
const loosely =
  (make: (...args: never[]) => unknown, ...args: unknown[]) =>
  () =>
    make(...(args as never[]))

describe('rateLimit for any fetch handler: a mistake is found at construction', () => {
  mistakesAreNamed([
    ['no options', loosely(rateLimit, limiter), 'rateLimit'],
    ['no handler', loosely(rateLimit, limiter, options), 'handle'],
    ['a handler that is a response', loosely(rateLimit, limiter, options, respond()), 'handle'],
  ])
})

describe('rateLimit for Workers: a mistake is found at construction', () => {
  mistakesAreNamed([
    ['no options', loosely(rateLimitWorker, limiterFor), 'rateLimit'],
    ['options that are null', loosely(rateLimitWorker, limiterFor, null, respond), 'rateLimit'],
    ['no handler', loosely(rateLimitWorker, limiterFor, options), 'handle'],
  ])
})

describe('rateLimitQueue: a mistake is found at construction', () => {
  const queue = (wrong: unknown, handle: unknown = () => {}, make: unknown = limiterFor) =>
    loosely(rateLimitQueue, make, wrong, handle)

  mistakesAreNamed([
    ['no options', loosely(rateLimitQueue, limiterFor), 'rateLimitQueue'],
    [
      'an unknown option',
      queue({ subject: whose, csot: () => 1 }),
      'rateLimitQueue.csot',
      'unknown_option',
    ],
    ['no subject', queue({}), 'subject'],
    ['a subject that is no function', queue({ subject: { tenant: 'acme' } }), 'subject'],
    ['a cost that is no function', queue({ subject: whose, cost: 3 }), 'cost'],
    ['a delay below 0', queue({ subject: whose, maxDelayMs: -1 }), 'maxDelayMs'],
    ['no handler', queue({ subject: whose }, null), 'handle'],
    ['a limiter', queue({ subject: whose }, () => {}, limiter), 'limiterFor'],
    ['no limiter', queue({ subject: whose }, () => {}, null), 'limiterFor'],
  ])
})
