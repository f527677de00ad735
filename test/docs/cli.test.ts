import { createLimiter, slidingWindow } from '@sluice/core'
import { upstash } from '@sluice/core/upstash'
import { JobError, limitedQueue, work } from '@sluice/queue'
import { flushUsage } from '@sluice/usage'
import { denialId, flushDenials } from '@sluice/usage/denials'
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { BUDGET_FILE, instanceOf, limitsFile } from '../cli/limits.ts'
import { envOf, project, removeProjects, type Project } from '../cli/project.ts'
import { sharedRedisOverHttp } from '../support/running-redis.ts'
import { freshPrefix } from '../support/stores.ts'
import { commandsOn, runShown, timeless } from './shown-commands.ts'

const page = readFileSync(new URL('../../docs/cli.md', import.meta.url), 'utf8')

/** The commands of the page. Some run until they are stopped: test/local and test/cli run them. */
const COMMANDS = commandsOn(page).filter(({ command }) => !/cli (local|dev)\b/.test(command))

/** The settings that the page states. */
const CONFIGURATION = /```ts\n\/\/ src\/limits\.ts\n([^]*?)```/.exec(page)?.[1] ?? ''

/** The limiter with credits that the page states, under keys of its own. */
const CREDITS = (/```ts\n\/\/ src\/limits\.ts, beside.*\n([^]*?)```/.exec(page)?.[1] ?? '').replace(
  /import .*upstash'\n/,
  '',
)

/** Fourteen calls of one tenant in a row, and two of another. */
const requests = (): string[] =>
  Array.from({ length: 16 }, (_, second) => {
    const tenant = second < 14 ? 'acme' : 'globex'
    const at = `2026-11-26T10:00:${String(second).padStart(2, '0')}Z`
    return `${at},${tenant},chat,900,100,0.02`
  })

const redis = sharedRedisOverHttp()
let app: Project

beforeAll(async () => {
  const prefix = freshPrefix()
  app = project({
    'package.json': JSON.stringify({ type: 'module', dependencies: { hono: '*' } }),
    'src/limits.ts':
      limitsFile(prefix) +
      CONFIGURATION +
      CREDITS.replace('upstash()', `upstash({ prefix: '${prefix}c' })`),
    'src/budget.ts': BUDGET_FILE,
    '.env.local': envOf(redis.local),
    'requests.csv': `time,tenant,route,input,output,cost\n${requests().join('\n')}`,
  })
  const running = instanceOf(redis.local, prefix)
  const acme = { tenant: 'acme', route: 'chat' }
  await running.check(acme, { cost: { request: 3, usd: 1_250_000 } })
  const denied = await running.check(acme, { cost: { request: 21, usd: 0 } })
  const sent = new Request('https://app.example', { headers: { 'x-request-id': 'req_7f3a' } })
  if (!denied.allowed) denialId()(denied, sent)
  await flushDenials(running)
  await flushUsage(running)
  await failJob(prefix)
})
afterAll(removeProjects)

function fail(): void {
  throw new JobError('the document is not readable', { retry: false })
}

/** Adds the job that the page shows, which fails. */
async function failJob(prefix: string): Promise<void> {
  const { url, token } = redis.local
  const policies = [slidingWindow({ name: 'jobs', limit: 60, window: '1m', per: ['tenant'] })]
  const limiter = createLimiter({
    store: upstash({ url, token, prefix, timeoutMs: 30_000 }),
    policies,
  })
  const queue = limitedQueue(limiter, { name: 'summaries' })
  await queue.add(0, { id: 'job-17', subject: { tenant: 'acme' } })
  await work(queue, fail, { untilIdle: true, onFailed: () => {} }).ended
}

const KEY_ID = /key_[0-9a-f]{16}/
/** The name of the key that the page makes. */
let keyId = ''

it('the page shows eight commands or more', () => {
  expect(COMMANDS.length).toBeGreaterThan(7)
})

it.each(COMMANDS)('prints what the page shows: $command', async ({ command, output }) => {
  const { out, err, exitCode } = await runShown(app, command.replace(KEY_ID, keyId))
  keyId = KEY_ID.exec(out)?.[0] ?? keyId
  // The progress of long work goes to standard error.
  expect({ err: err.replace(/^(replay|preview): \d+ %$/m, ''), exitCode }).toEqual({
    err: '',
    exitCode: 0,
  })
  expect(timeless(out)).toBe(timeless(output ?? out))
})

it('has a row for each finding of doctor, in the same order', () => {
  const code = readFileSync(
    new URL('../../packages/cli/src/doctor/finding.ts', import.meta.url),
    'utf8',
  )
  const codes = [...code.matchAll(/\| '(\w+)'/g)].map(([, name]) => name)
  const rows = [...page.matchAll(/^\| `(\w+)` /gm)].map(([, name]) => name)
  expect(rows).toEqual(codes)
})
