import { configure, runtimeConfiguration } from '@sluice/core/configuration'
import { createLimiter, slidingWindow } from '@sluice/core'
import { upstash } from '@sluice/core/upstash'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { collectProblems } from '../../support/limiters.ts'
import { sharedRedisOverHttp } from '../../support/running-redis.ts'
import { freshPrefix } from '../../support/stores.ts'
import { ACME, createOperator, FREE, type Operator } from '../operator.ts'
import { envOf, removeProjects } from '../project.ts'

const redis = sharedRedisOverHttp()
afterAll(removeProjects)

const OTHER = { tenant: 'globex', route: 'chat' }
let prefix: string
let app: Operator['app']
let running: Operator['running']
beforeEach(() => {
  prefix = freshPrefix()
  ;({ app, running } = createOperator(redis.local, {
    prefix,
    more: 'export const configuration = []',
  }))
})

const say = async (...args: string[]): Promise<string> => {
  const { out, err, exitCode } = await app.sluice(args)
  expect({ args, err, exitCode }).toEqual({ args, err: '', exitCode: 0 })
  return out
}

/** The limits that a new instance of the app decides by. */
const limitsOf = async (subject = ACME): Promise<unknown[]> => {
  const fresh = createOperator(redis.local, { prefix }).app
  const shown = await fresh.sluice([
    'show',
    '--tenant',
    subject.tenant,
    '--route',
    'chat',
    '--json',
  ])
  const { policies } = JSON.parse(shown.out) as { policies: { name: string; limit: unknown }[] }
  return policies.map(({ name, limit }) => `${name} ${String(limit)}`)
}

/** Fills the configuration with settings of other tenants. */
async function configureTenants(count: number, limit = 7): Promise<void> {
  const entries = Array.from({ length: count }, (_, index) => ({
    policy: 'rpm',
    subject: { tenant: `t${index}` },
    settings: { limit },
  }))
  const key = `${prefix}:config:default`
  const settings = JSON.stringify(entries)
  await redis.redis.hset(key, { settings, version: 'full' })
}

describe('sluice stop', () => {
  it('denies everything of a tenant, and nothing of another, until sluice start', async () => {
    await say('set', 'rpm', 'limit=5', '--tenant', 'acme', '--yes')
    expect(await say('stop', 'acme', '--until', '2027-01-01T00:00Z')).toBe(
      [
        'rpm (tenant=acme): limit 5 -> 0, until 2027-01-01 00:00Z',
        'budget (tenant=acme): limit as in the code -> $0.00, until 2027-01-01 00:00Z',
        'Nothing is changed. Add --yes to change it.',
      ].join('\n'),
    )
    expect((await running.check(ACME, FREE)).allowed).toBe(true)
    await say('stop', 'acme', '--yes', '--note', 'runaway')
    expect(await limitsOf()).toEqual(['rpm 0', 'daily 500', 'budget 0', 'all 1000'])
    expect(await limitsOf(OTHER)).toEqual(['rpm 20', 'daily 500', 'budget 50000000', 'all 1000'])
    expect(await say('log', '--top', '1')).toContain(': runaway')
    expect(await say('start', 'acme', '--yes')).toContain('rpm (tenant=acme): limit 0 (until ')
    expect(await limitsOf()).toEqual(['rpm 5', 'daily 500', 'budget 50000000', 'all 1000'])
    expect(await say('start', 'acme', '--yes')).toBe('acme is not stopped.')
  })

  it.each([
    ['which has not ended, applies again after start', false, 'budget 40000000'],
    ['which has ended meanwhile, does not', true, 'budget 50000000'],
  ])('a temporary setting of before, %s', async (_, hasEnded, budget) => {
    await say('set', 'budget', 'limit=$40', '--tenant', 'acme', '--until', '24h', '--yes')
    await say('stop', 'acme', '--yes')
    const key = `${prefix}:config:default`
    const history = (await redis.redis.hget(key, 'history')) ?? ''
    const years = /20\d\d-(?=[^"]*Z")/g
    if (hasEnded) await redis.redis.hset(key, 'history', history.replaceAll(years, '2000-'))
    await say('stop', 'acme', '--until', '3d', '--yes')
    const out = await say('start', 'acme', '--yes')
    expect(out.includes('-> $40.00, until 20')).toBe(!hasEnded)
    expect(await limitsOf()).toContain(budget)
  })

  it('is said by why, with its note, and no change of a limit ends it but start', async () => {
    await say('stop', 'acme', '--yes', '--note', 'leaked key', '--by', 'ann')
    const stopped = 'acme is stopped by ann (leaked key): sluice start acme ends it.'
    const { out } = await app.sluice(['why', '--tenant', 'acme', '--route', 'chat'])
    expect(out).toContain(`\n${stopped}\nDenied by rpm`)
    expect(out).not.toContain('It fits now')
    for (const change of [
      'raise rpm 60 --until 24h',
      'set rpm limit=60',
      'raise budget $80 --until 24h',
    ]) {
      const args = [...change.split(' '), '--tenant', 'acme', '--yes']
      const { err, exitCode } = await app.sluice(args)
      expect({ change, err: err.includes(stopped), exitCode }).toEqual({
        change,
        err: true,
        exitCode: 1,
      })
    }
    expect(await limitsOf()).toContain('rpm 0')
    await say('raise', 'rpm', '60', '--until', '24h', '--tenant', 'globex', '--yes')
    await say('start', 'acme', '--yes')
    await say('raise', 'rpm', '60', '--until', '24h', '--tenant', 'acme', '--yes')
  })

  it.each(['stop acme', 'stop acme --yes', 'start acme --yes'])(
    'names a store that fails: %s',
    async (args) => {
      app.write('.env.local', envOf({ url: 'http://127.0.0.1:1', token: 'secret-token' }))
      const { err, exitCode } = await app.sluice(args.split(' '))
      const set = await app.sluice(['set', 'rpm', 'limit=5', '--yes'])
      expect({ err, exitCode }).toEqual({ err: set.err, exitCode: 1 })
    },
  )

  it('outlives sluice apply, and is taken back by undo', async () => {
    await say('stop', 'acme', '--yes')
    await say('apply', '--yes')
    expect(await limitsOf()).toContain('rpm 0')
    await say('undo', '--yes')
    expect(await limitsOf()).toContain('rpm 20')
  })

  it('works when no other partition can be configured, which the preview of a change says', async () => {
    await configureTenants(1_000)
    for (const yes of [[], ['--yes']]) {
      const { err } = await app.sluice(['set', 'rpm', 'limit=5', '--tenant', 'acme', ...yes])
      expect(err).toContain('must not set more than 1000 partitions')
    }
    for (const args of ['stop acme --yes', 'stop t5 --yes', 'start t5 --yes']) {
      const { exitCode, err } = await app.sluice(args.split(' '))
      expect({ args, exitCode, err }).toEqual({
        args,
        exitCode: 0,
        err: expect.stringContaining('is 100 % full: add partitionRecords()') as string,
      })
    }
    expect(await limitsOf()).toContain('rpm 0')
    expect(await limitsOf({ ...ACME, tenant: 't5' })).toContain('rpm 7')
  })

  it('works beside 1,000 tenants that are stopped already', async () => {
    await configureTenants(1_000, 0)
    await say('stop', 'acme', '--yes')
    expect(await limitsOf()).toContain('rpm 0')
  })

  it('stops a tenant of the gateway, whose limits are on models, keys and runs, too', async () => {
    const { url, token } = redis.local
    const tenant = `acme-${prefix}`
    app.write(
      'gateway.ts',
      `import { upstash } from '@sluice/core/upstash'
import { limiterFor } from '../../../apps/worker/src/limits.ts'
export const limiter = limiterFor(upstash(${JSON.stringify({ url, token, timeoutMs: 30_000 })}))`,
    )
    const lines = (await say('stop', tenant, '--limits', 'gateway.ts', '--yes')).split('\n')
    const names = lines.slice(0, -1).map((line) => line.split(' ')[0])
    expect(names).toEqual(['budget.daily', 'budget.monthly', 'rpm', 'tpm'])
    const why = ['--limits', 'gateway.ts', '--tenant', tenant, '--subject', 'key=k']
    expect((await app.sluice(['why', ...why])).out).toMatch(/^Denied by/m)
    await say('start', tenant, '--limits', 'gateway.ts', '--yes')
    expect((await app.sluice(['why', ...why])).out).toMatch(/^Allowed/m)
  })

  it.each([
    ['stop', 'name one tenant, such as: sluice stop acme'],
    ['stop acme globex', 'name one tenant'],
    ['start', 'name one tenant, such as: sluice start acme'],
    ['stop acme --until yesterday', '--until yesterday must be a duration'],
  ])('%s is refused', async (args, says) => {
    const { err, exitCode } = await app.sluice(args.split(' '))
    expect({ err, exitCode }).toEqual({ err: expect.stringContaining(says) as string, exitCode: 1 })
  })

  it.each([
    ["per: ['tenant', 'route']", '', 'no policy counts by tenant alone, on all routes, but rpm'],
    ["per: ['tenant'], routes: ['chat']", '', 'no policy counts by tenant alone, on all routes'],
    ["per: ['tenant']", '', 'allow the limit of rpm by runtimeConfiguration in limits.ts'],
    [
      "per: ['tenant'], mode: 'shadow'",
      "runtimeConfiguration({ allow: { rpm: ['limit'] } })",
      'rpm would deny nothing, in shadow mode',
    ],
  ])('is refused where no limit would stop a tenant: %s', async (policy, extension, says) => {
    app.write(
      'limits.ts',
      `
import { createLimiter, slidingWindow } from '@sluice/core'
import { runtimeConfiguration } from '@sluice/core/configuration'
import { upstash } from '@sluice/core/upstash'
void runtimeConfiguration
export const limiter = createLimiter({
  store: upstash({ prefix: '${prefix}', timeoutMs: 30_000 }),
  policies: [slidingWindow({ name: 'rpm', limit: 20, window: '1m', ${policy} })],
  extensions: [${extension}],
})`,
    )
    const { err } = await app.sluice(['stop', 'acme', '--limits', 'limits.ts', '--yes'])
    expect(err).toContain(says)
  })
})

describe('a configuration that is almost full', () => {
  it('is a problem of the app, and a finding of doctor', async () => {
    await configureTenants(799)
    expect((await app.sluice(['doctor'])).out).not.toContain('configuration_almost_full')
    await configureTenants(800)
    expect((await app.sluice(['doctor'])).out).toContain(
      'configuration_almost_full: the stored settings are 80 % full',
    )
    const { problems, listener } = collectProblems()
    const { url, token } = redis.local
    const limiter = createLimiter({
      store: upstash({ url, token, prefix, timeoutMs: 30_000 }),
      policies: [slidingWindow({ name: 'rpm', limit: 20, window: '1m', per: ['tenant'] })],
      extensions: [runtimeConfiguration({ allow: { rpm: ['limit'] } }), listener],
    })
    await limiter.check(ACME)
    expect(problems.map(({ code }) => code)).toEqual(['configuration_almost_full'])
    await configure(limiter, { rpm: null }, { tenant: 't5' })
    await limiter.check(ACME)
    expect(problems).toHaveLength(1)
  })
})
