import { readFileSync } from 'node:fs'
import { createLimiter, dailyCap, definePlans, slidingWindow } from '@sluice/core'
import { rateLimit } from '@sluice/core/http'
import { jwtSubject } from '@sluice/core/jwt'
import { memory } from '@sluice/core/memory'
import { upstash } from '@sluice/core/upstash'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'

const page = (name: string): string =>
  readFileSync(new URL(`../../docs/${name}.md`, import.meta.url), 'utf8')

const ACME = { tenant: 'acme' }
const rpm = slidingWindow({ name: 'rpm', limit: 60, window: '1m', per: ['tenant'] })
const limiter = createLimiter({ store: memory(), policies: [rpm] })
const serve = (routes: string[], subject: unknown) =>
  rateLimit(limiter, { routes, subject: subject as () => null }, () => new Response())
const checkBy = (store: ReturnType<typeof upstash>) =>
  createLimiter({ store, policies: [rpm] }).check(ACME)

/** Mistakes that the page of mistakes leaves out: the words of their message that are the remedy. */
const MISTAKES: Readonly<Record<string, readonly [mistake: () => unknown, remedy: string]>> = {
  'no address of a database': [
    () => checkBy(upstash()),
    'set UPSTASH_REDIS_REST_URL and UPSTASH_REDIS_REST_TOKEN, or pass env in a Worker',
  ],
  'a database that does not answer': [
    () => checkBy(upstash({ url: 'http://127.0.0.1:9', token: 'some-token' })),
    'docs/errors.md#store_unreachable',
  ],
  'a short secret': [
    () => jwtSubject({ secret: 'short', algorithms: ['HS256'] }),
    '"openssl rand -base64 32" makes one',
  ],
  'no secret': [
    () => jwtSubject({ secret: undefined, algorithms: ['HS256'] }),
    'write secret: () => process.env.JWT_SECRET',
  ],
  'a subject in place of a function': [
    () => serve(['/api/**'], ACME),
    'subject: must be a function',
  ],
  'a misspelt option': [
    () => slidingWindow({ name: 'rpm', limits: 60, window: '1m', per: ['tenant'] } as never),
    'expected "name", "limit"',
  ],
  'a route as a folder of Next.js': [
    () => serve(['/api/ai/[model]'], () => ACME),
    '":id" is one segment',
  ],
  'a plan that is not defined': [
    () => {
      const planned = createLimiter({
        store: memory(),
        plans: definePlans({ starter: { daily: 500 }, growth: { daily: 2_000 } }),
        policies: [dailyCap({ name: 'daily', limit: ({ plan }) => plan.daily, per: ['tenant'] })],
      })
      return planned.check({ ...ACME, plan: 'Growth' as 'growth' })
    },
    'No plan is named "Growth"',
  ],
}

beforeEach(() => {
  vi.stubEnv('UPSTASH_REDIS_REST_URL', undefined)
  vi.stubEnv('UPSTASH_REDIS_REST_TOKEN', undefined)
})
afterEach(() => {
  vi.unstubAllEnvs()
  vi.restoreAllMocks()
})

it.each(Object.entries(MISTAKES))('tells the remedy of %s', async (_title, [mistake, remedy]) => {
  const lines: string[] = []
  vi.spyOn(console, 'error').mockImplementation((line) => void lines.push(String(line)))
  try {
    await mistake()
  } catch (error) {
    lines.push(String(error))
  }
  expect(lines).toContainEqual(expect.stringContaining(remedy))
})

it('has the remedies that messages leave to a page', () => {
  const section = /### `store_unreachable`\n([^#]*)/.exec(page('errors'))?.[1]
  expect(section).toContain('Check the URL')
  expect(page('troubleshooting')).toMatch(/`No plan is named …`[^-]*case-sensitive/)
})
