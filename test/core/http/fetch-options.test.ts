import { rateLimit } from '@sluice/core/http'
import { describe } from 'vitest'
import { mistakesAreNamed } from '../../support/mistakes.ts'
import { perMinute, subject } from './support.ts'

const limiter = perMinute(1)
const options = { routes: ['/**'], subject }
const respond = () => new Response()
/** Calls with arguments that TypeScript would refuse, as JavaScript does. */
const loosely =
  (make: (...args: never[]) => unknown, ...args: unknown[]) =>
  () =>
    make(...(args as never[]))

describe('rateLimit for any fetch handler: a mistake in the arguments is an error at construction', () => {
  mistakesAreNamed([
    ['no options', loosely(rateLimit, limiter), 'rateLimit'],
    ['no handler', loosely(rateLimit, limiter, options), 'handle'],
    ['a handler that is a response', loosely(rateLimit, limiter, options, respond()), 'handle'],
  ])
})
