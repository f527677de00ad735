import { startLocal, type LocalServer } from '@sluice/local'
import { afterAll, beforeAll, expect, inject, it } from 'vitest'
import { describeChaining } from './chaining.ts'
import { describeConcurrency } from './concurrency.ts'
import { describeHandoff } from './handoff.ts'
import { describeHangUps } from './hang-ups.ts'
import { describeHolding } from './holding.ts'
import { describeRequests } from './requests.ts'
import { describeReserving } from './reserving.ts'
import { describeServerFunctions } from './server-functions.ts'
import { describeSpellings } from './spellings.ts'
import { build, start, type RunningApp, type Variant } from '../support/build.ts'
import type { SetUp } from '../support/set-up.ts'

const SECRET = 'a secret that middleware and handlers share'

/** The lines of a handler that charges what the middleware has charged, or seems to have. */
const SECOND_CHARGE =
  /charges the route "both" a second time|"(both|once)" charges a request in spite of its hand-off/

/** An app of `next start`, and what its paths look like. */
export type PathVariant = Variant & { readonly basePath?: string; readonly trailingSlash?: true }

/** Describes all cases of an app that is built and started like this. */
export function describeVariant({ basePath = '', trailingSlash, ...variant }: PathVariant): void {
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
}
