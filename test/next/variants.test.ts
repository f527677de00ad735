import { startLocal, type LocalServer } from '@sluice/local'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { describeChaining } from './cases/chaining.ts'
import { describeConcurrency } from './cases/concurrency.ts'
import { describeHandoff } from './cases/handoff.ts'
import { describeHangUps } from './cases/hang-ups.ts'
import { describeHolding } from './cases/holding.ts'
import { describeRequests } from './cases/requests.ts'
import { describeReserving } from './cases/reserving.ts'
import { describeServerFunctions } from './cases/server-functions.ts'
import { describeSpellings } from './cases/spellings.ts'
import { build, start, type RunningApp, type Variant } from './support/build.ts'
import type { SetUp } from './support/set-up.ts'

const SECRET = 'a secret that middleware and handlers share'

/** The lines of a handler that charges what the middleware has charged, or seems to have. */
const SECOND_CHARGE =
  /charges the route "both" a second time|"(both|once)" charges a request in spite of its hand-off/

const VARIANTS: readonly (Variant & { basePath?: string; trailingSlash?: true })[] = [
  { name: 'edge middleware' },
  { name: 'edge middleware under a basePath', basePath: '/app' },
  { name: 'proxy on Node', proxy: true },
  { name: 'proxy on Node with trailing slashes', proxy: true, trailingSlash: true },
]

describe.each(VARIANTS)('next start, $name:', ({ basePath = '', trailingSlash, ...variant }) => {
  const running: RunningApp[] = []
  let local: LocalServer
  let setUp: SetUp
  let twin: SetUp
  let withoutSecret: SetUp

  beforeAll(async () => {
    const config = [
      basePath && `  basePath: '${basePath}',`,
      trailingSlash && '  trailingSlash: true,',
    ]
    const app = await build({ ...variant, config: config.filter(Boolean).join('\n') })
    local = await startLocal({ redisUrl: inject('redisUrl') })
    const env = { UPSTASH_REDIS_REST_URL: local.url, UPSTASH_REDIS_REST_TOKEN: local.token }
    const serve = async (secret: string | undefined): Promise<SetUp> => {
      const server = await start(
        app,
        secret === undefined ? env : { ...env, HANDOFF_SECRET: secret },
      )
      running.push(server)
      return {
        url: server.url,
        basePath,
        trailingSlash: trailingSlash === true,
        buildId: app.buildId,
        secret,
        storeRequests: () => local.requests,
      }
    }
    setUp = await serve(SECRET)
    twin = await serve(SECRET)
    withoutSecret = await serve(undefined)
  })

  afterAll(async () => {
    await Promise.all(running.map((server) => server.stop()))
    await local?.close()
  })

  describeSpellings(() => setUp)
  describeRequests(() => setUp)
  describeHandoff(
    () => setUp,
    () => twin,
    () => withoutSecret,
  )
  describeConcurrency(() => setUp)
  describeChaining(() => setUp)
  describeHangUps(() => setUp)
  describeHolding(() => setUp)
  describeReserving(() => setUp)
  describeServerFunctions(() => setUp)

  it('prints no error of the limiter, but that handlers charge again: without the secret, or forged', () => {
    const lines = running.flatMap((server) => server.output().split('\n'))
    const ours = lines.filter((line) => /sluice|ConfigError/i.test(line))
    expect(ours.filter((line) => !SECOND_CHARGE.test(line))).toEqual([])
  })
})
