import { rateLimit as rateLimitWorker } from '@sluice/cloudflare'
import { limitedConsumer } from '@sluice/queue/cloudflare'
import { describe } from 'vitest'
import { mistakesAreNamed } from '../support/mistakes.ts'
import { perMinute, subject } from '../core/http/support.ts'

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

describe('rateLimit for Workers: a mistake in the arguments is an error at construction', () => {
  mistakesAreNamed([
    ['no options', loosely(rateLimitWorker, limiterFor), 'rateLimit'],
    ['options that are null', loosely(rateLimitWorker, limiterFor, null, respond), 'rateLimit'],
    ['no limiter', loosely(rateLimitWorker, undefined, options, respond), 'limiter'],
    ['no handler', loosely(rateLimitWorker, limiterFor, options), 'handle'],
  ])
})

describe('limitedConsumer: a mistake in the arguments is an error at construction', () => {
  const queue = (wrong: unknown, handle: unknown = () => {}, make: unknown = limiterFor) =>
    loosely(limitedConsumer, make, wrong, handle)

  mistakesAreNamed([
    ['no options', loosely(limitedConsumer, limiterFor), 'limitedConsumer'],
    [
      'an unknown option',
      queue({ subject: whose, csot: () => 1 }),
      'limitedConsumer.csot',
      'unknown_option',
    ],
    ['no subject', queue({}), 'subject'],
    ['a subject that is no function', queue({ subject: { tenant: 'acme' } }), 'subject'],
    ['a cost that is no function', queue({ subject: whose, cost: 3 }), 'cost'],
    ['a delay below 0', queue({ subject: whose, maxDelayMs: -1 }), 'maxDelayMs'],
    ['no handler', queue({ subject: whose }, null), 'handle'],
    ['no limiter', queue({ subject: whose }, () => {}, null), 'limiter'],
  ])
})
