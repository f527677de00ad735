import { rateLimit } from '@sluice/adapters/mcp'
import { describe } from 'vitest'
import { perMinute, subject } from '../../core/http/support.ts'
import { mistakesAreNamed } from '../../support/mistakes.ts'
import { text } from './support.ts'

describe('options are checked at once', () => {
  const limited = rateLimit(perMinute(1), { subject })
  mistakesAreNamed([
    ['no subject', () => rateLimit(perMinute(1), {} as never), 'subject'],
    ['no limiter', () => rateLimit(undefined as never, { subject }), 'limiter'],
    [
      'a code of words',
      () => rateLimit(perMinute(1), { subject, code: 'limited' as never }),
      'code',
    ],
    [
      'an option for HTTP',
      () => rateLimit(perMinute(1), { subject, format: 'openai' } as never),
      'rateLimit.format',
      'unknown_option',
    ],
    ['no name', () => limited('', () => text('now')), 'name'],
    ['no callback', () => limited('now', undefined as never), 'callback'],
  ])
})
