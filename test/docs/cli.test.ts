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

/** The limiter with credits, under keys of its own. */
const creditsFile = (prefix: string): string => `
import { credits } from '@sluice/core/credits'
export const prepaid = createLimiter({
  store: upstash({ prefix: '${prefix}c' }),
  onStoreError: 'deny',
  policies: [credits({ name: 'credits', per: ['tenant'], unsettled: 'keep' })],
})
`

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
    'src/limits.ts': limitsFile(prefix) + CONFIGURATION + creditsFile(prefix),
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
})
afterAll(removeProjects)

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

it('names each finding of doctor', () => {
  const code = readFileSync(
    new URL('../../packages/cli/src/doctor/finding.ts', import.meta.url),
    'utf8',
  )
  const codes = [...code.matchAll(/\| '(\w+)'/g)].map(([, name]) => name)
  const section = page.slice(page.indexOf('## Find out what is wrong'))
  const named = [...section.matchAll(/(?<!\[)`([a-z]+_\w+)`/g)].map(([, name]) => name)
  expect(new Set(named)).toEqual(new Set(codes))
})
