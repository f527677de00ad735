import { createLimiter, manualClock, type Policy } from '@sluice/core'
import { compare, openLog, policySet } from '@sluice/replay'
import { expect, it } from 'vitest'
import { own, waits } from '../../commands/support.ts'
import { BALANCES, KIND_NAMES, KINDS } from '../../support/kinds.ts'
import { NOON } from '../../support/times.ts'
import { write } from '../support.ts'

/** Calls in bursts and with pauses, so that some are denied. */
const TIMES: number[] = []
const wait = waits(4_000)
for (let at = NOON; TIMES.length < 120; at += wait()) TIMES.push(at)

/** The commands of the same calls in Redis. */
async function measured(policies: readonly Policy[]): Promise<{ total: number; denied: number }> {
  const clock = manualClock(NOON)
  const limiter = createLimiter({ store: own.store(), policies, clock })
  await limiter.peek({ tenant: 'warm' })
  let denied = 0
  const { total } = await own.meter.measure(async () => {
    for (const at of TIMES) {
      clock.set(at)
      if (!(await limiter.check({ tenant: 'a' })).allowed) denied += 1
    }
  })
  // An injected clock saves the TIME that every other check has.
  return { total: total + TIMES.length, denied }
}

type PoliciesOf = (limit: number) => readonly Policy[]

const CASES: Readonly<Record<string, PoliciesOf>> = {
  ...Object.fromEntries(
    KIND_NAMES.filter((kind) => kind !== 'calls in flight' && !BALANCES.includes(kind)).map(
      (kind): [string, PoliciesOf] => [kind, (limit) => [KINDS[kind]('p', limit)]],
    ),
  ),
  'three policies': (limit) => [
    KINDS['daily cap']('daily', 100),
    KINDS['sliding window']('rpm', limit),
    KINDS['token bucket']('bucket', limit * 2),
  ],
}

it.each(Object.entries(CASES))(
  'a comparison says at least how many commands a log takes: %s',
  async (_, policies) => {
    const log = await openLog(write('log.csv', `time,tenant\n${TIMES.join(',a\n')},a`))
    const { commands } = await compare(log.calls(), [
      policySet('now', { policies: policies(100) }),
      policySet('then', { policies: policies(7) }),
    ])
    const inRedis = [await measured(policies(100)), await measured(policies(7))] as const
    expect(inRedis[1].denied).toBeGreaterThan(0)
    for (const [index, { total }] of inRedis.entries()) {
      expect(commands[index]).toBeLessThanOrEqual(total)
      expect(commands[index]).toBeGreaterThan(total * 0.6)
    }
  },
)
