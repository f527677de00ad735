import { createLimiter, dailyCap, monthlyCap, slidingWindow, type Limiter } from '@sluice/core'
import { upstash } from '@sluice/core/upstash'
import { flushUsage, recordUsage } from '@sluice/usage'
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { BUDGET_FILE, limitsFile } from '../cli/limits.ts'
import { envOf, project, removeProjects, type Project } from '../cli/project.ts'
import { sharedRedisOverHttp } from '../support/running-redis.ts'
import { freshPrefix } from '../support/stores.ts'

const page = readFileSync(new URL('../../docs/cli.md', import.meta.url), 'utf8')

/** The commands of the page, in order, and what they print. */
const COMMANDS = [
  ...page.matchAll(
    /```sh\n(?:npm install [^\n]*\n)?npx sluice ([^\n]+)\n```(?:\n\n```text\n([^]*?)\n```)?/g,
  ),
].map(([, command = '', output]) => ({ command, output }))

const redis = sharedRedisOverHttp()
let app: Project

beforeAll(async () => {
  const prefix = freshPrefix()
  app = project({
    'package.json': JSON.stringify({ type: 'module', dependencies: { hono: '*' } }),
    'src/limits.ts': limitsFile(prefix),
    'src/budget.ts': BUDGET_FILE,
    '.env.local': envOf(redis.local),
  })
  const { url, token } = redis.local
  const running: Limiter = createLimiter({
    store: upstash({ url, token, prefix, timeoutMs: 30_000 }),
    policies: [
      slidingWindow({ name: 'rpm', limit: 20, window: '1m', per: ['tenant'] }),
      dailyCap({ name: 'daily', limit: 500, per: ['tenant', 'route'] }),
      monthlyCap({ name: 'budget', limit: 50_000_000, unit: 'usd', per: ['tenant'] }),
      slidingWindow({ name: 'all', limit: 1_000, window: '1m', per: 'global' }),
    ],
    extensions: [recordUsage({ tenants: 'plain' })],
  })
  const acme = { tenant: 'acme', route: 'chat' }
  await running.check(acme, { cost: { request: 3, usd: 1_250_000 } })
  await running.check(acme, { cost: { request: 21, usd: 0 } })
  await flushUsage(running)
})
afterAll(removeProjects)

/** Hides what depends on the time: durations, dates, and the width of their column. */
const timeless = (text: string): string =>
  text.replaceAll(/in (?:\d+[dhms] ?)+/g, 'in …').replaceAll(/\d{4}-\d\d-\d\dT[\d:]+Z/g, '…')

it('has commands', () => {
  expect(COMMANDS.length).toBeGreaterThan(7)
})

it.each(COMMANDS)('prints what the page shows: sluice $command', async ({ command, output }) => {
  const args = (command.match(/(?:'[^']*'|[^\s'])+/g) ?? []).map((arg) => arg.replaceAll("'", ''))
  const { out, err, exitCode } = await app.sluice(args)
  expect({ err, exitCode }).toEqual({ err: '', exitCode: 0 })
  expect(timeless(out)).toBe(timeless(output ?? out))
})
