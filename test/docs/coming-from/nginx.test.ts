import { createLimiter, leakyBucket } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import * as fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { limitReq, NginxLimit, type NginxOutcome, type NginxZone } from './models/nginx.ts'
import { at, block, cleanUp, requestFrom, type Block, source, stillClock } from './page.ts'

cleanUp()
stillClock()

/** Two clients, and a probe that has the address of the first. */
const CLIENTS = ['192.0.2.7', '198.51.100.9', 'probe'] as const

interface Step {
  readonly waitMs: number
  readonly client: (typeof CLIENTS)[number]
  readonly sent: number
}

/** Bursts of requests, after pauses around a turn of 100 ms, and after long ones. */
const history: fc.Arbitrary<Step[]> = fc.array(
  fc.record({
    waitMs: fc.oneof(fc.constantFrom(0, 1, 99, 100, 101), fc.nat({ max: 3_000 })),
    client: fc.constantFrom(...CLIENTS),
    sent: fc.integer({ min: 1, max: 30 }),
  }),
  { minLength: 10, maxLength: 40 },
)

describe('nginx with a burst at once', () => {
  it('lets the same requests pass, with the same status', async () => {
    expect(await refusals('nodelay', overHttp, asStatus)).toBeGreaterThan(0)
  })
})

describe('nginx with a queue', () => {
  it('lets the same requests pass and delays them as long', async () => {
    expect(await refusals('queue', outcomeWithDelay, (outcome) => outcome)).toBeGreaterThan(0)
  })
})

describe('nginx with `delay`', () => {
  it('lets the same requests pass, and holds them as long', async () => {
    expect(await refusals('delay', outcomeWithDelay, (outcome) => outcome)).toBeGreaterThan(0)
  })
})

describe('nginx with several limits, some of them not for everyone', () => {
  it('lets the same requests pass', async () => {
    vi.stubEnv('PROBE_KEY', 'let-me-in')
    expect(await refusals('several', overHttp, asStatus)).toBeGreaterThan(0)
  })
})

describe('nginx in dry-run mode', () => {
  it('would refuse the same requests, and refuses and delays none', async () => {
    await fc.assert(
      fc.asyncProperty(history, async (steps) => {
        const queue = { limit: 10, window: '1s', burst: 21, per: ['address'] } as const
        const policies = [leakyBucket({ ...queue, name: 'api', mode: 'shadow' })]
        const limiter = createLimiter({ store: memory(), policies })
        const nginx = nginxOf(source('queue.conf'))
        const ours = await each(steps, async ({ client }) => {
          const decision = await limiter.check({ address: addressOf(client) })
          return [decision.allowed, decision.delayMs, decision.policies[0]?.fits]
        })
        const theirs = await each(steps, ({ client }, now) => [true, 0, nginx(client, now).allowed])
        expect(ours).toEqual(theirs)
      }),
      { numRuns: 30 },
    )
  })
})

describe('the model of nginx', () => {
  it.each([
    [0, [0, 100, 200, 300, 400, 500]],
    [2, [0, 0, 0, 100, 200, 300]],
    [Infinity, [0, 0, 0, 0, 0, 0]],
  ])(
    'delays and refuses seven concurrent requests like the source, with a delay of %s',
    (delay, waits) => {
      const limit = new NginxLimit({ rate: '10r/s', burst: 5, delay })
      const outcomes = Array.from({ length: 7 }, () => limitReq([[limit, 'a']], 0))
      expect(outcomes.slice(0, 6).map(({ delayMs }) => delayMs)).toEqual(waits)
      expect(outcomes.map(({ allowed }) => allowed)).toEqual([...waits.map(() => true), false])
    },
  )

  it('rounds the rate, so requests at exactly 100r/m are refused', () => {
    const limit = new NginxLimit({ rate: '100r/m' })
    const allowed = [0, 600].map((now) => limitReq([[limit, 'a']], now).allowed)
    expect(allowed).toEqual([true, false])
  })
})

/**
 * Asks ours, the block `name.ts` of the page, and nginx with `name.conf`, for many histories; throws
 * where they differ. Returns how many requests were refused.
 */
async function refusals<View>(
  name: string,
  ask: (ours: Block, client: string) => Promise<View>,
  view: (outcome: NginxOutcome) => View,
): Promise<number> {
  let refused = 0
  await fc.assert(
    fc.asyncProperty(history, async (steps) => {
      const ours = await block(name)
      const nginx = nginxOf(source(`${name}.conf`))
      const outcomes = await each(steps, ({ client }, now) => nginx(client, now))
      refused += outcomes.filter(({ allowed }) => !allowed).length
      const answers = await each(steps, ({ client }) => ask(ours, client))
      expect(answers).toEqual(outcomes.map(view))
    }),
    { numRuns: 30 },
  )
  return refused
}

/** Asks for every request of `steps`, from midnight on. */
async function each<Answer>(
  steps: readonly Step[],
  ask: (step: Step, now: number) => Answer | Promise<Answer>,
): Promise<Answer[]> {
  const answers: Answer[] = []
  let ms = 0
  for (const step of steps) {
    ms += step.waitMs
    for (let sent = 0; sent < step.sent; sent += 1) answers.push(await ask(step, at(ms)))
  }
  return answers
}

async function outcomeWithDelay({ limiter }: Block, client: string): Promise<NginxOutcome> {
  const { allowed, delayMs } = await limiter.check({ address: addressOf(client) })
  return { allowed, delayMs }
}

async function overHttp({ serve }: Block, client: string): Promise<number> {
  return (await serve(requestOf(client))).status
}

function asStatus({ allowed }: NginxOutcome): number {
  return allowed ? 200 : 429
}

function addressOf(client: string): string {
  return client === 'probe' ? CLIENTS[0] : client
}

function requestOf(client: string): Request {
  const probe = client === 'probe' ? { 'x-probe-key': 'let-me-in' } : {}
  return requestFrom(addressOf(client), '/api/search', probe)
}

/** An nginx with the directives of a block of the page. */
function nginxOf(conf: string): (client: string, now: number) => NginxOutcome {
  const zones = new Map<string, { key: string; rate: NginxZone['rate'] }>()
  for (const [, key = '', name = '', rate] of conf.matchAll(
    /limit_req_zone (\S+) zone=(\w+):10m rate=(\S+);/g,
  )) {
    zones.set(name, { key, rate: rate as NginxZone['rate'] })
  }
  const lines = Array.from(
    conf.matchAll(/limit_req zone=(\w+) burst=(\d+)(?: (nodelay|delay=(\d+)))?;/g),
    ([, name = '', burst, stage, delay = 0]) => {
      const { key = '', rate = '1r/s' } = zones.get(name) ?? {}
      const ownDelay = stage === 'nodelay' ? Infinity : Number(delay)
      return { key, limit: new NginxLimit({ rate, burst: Number(burst), delay: ownDelay }) }
    },
  )
  const mapped = conf.includes('"let-me-in" ""')
  return (client, now) => {
    const address = mapped && client === 'probe' ? '' : addressOf(client)
    return limitReq(
      lines.map(({ key, limit }) => [limit, key === '$server_name' ? 'app.example' : address]),
      now,
    )
  }
}
