import { createLimiter, manualClock } from '@sluice/core'
import { upstash } from '@sluice/core/upstash'
import type { Servers } from '../servers/servers.ts'
import type { Contest } from './contests.ts'
import { NOW } from './lua.ts'

const DECISIONS = 300
const LIMIT = 20
const LONGEST_GAP_MS = 600_000

/** The time as the last argument, in the place of Redis' own. */
const GIVEN_NOW = 'local now = tonumber(ARGV[#ARGV])\n'

/**
 * Throws unless the script written by hand decides as the limiter does over the same history: a faster
 * one that does something else is no reference.
 */
export async function assertAgreement(
  { url, token, redis }: Servers,
  contest: Contest,
): Promise<void> {
  const clock = manualClock(Date.now())
  const store = upstash({ url, token, timeoutMs: 10_000, prefix: 'agreement' })
  const limiter = createLimiter({ store, policies: contest.policies(LIMIT), clock })
  const script = contest.script.replace(NOW, GIVEN_NOW)
  let seed = 42
  for (let index = 0; index < DECISIONS; index += 1) {
    const decision = await limiter.check({ tenant: 'acme' })
    const { keys, args } = contest.call(LIMIT, 'agreement', `i${index}`)
    const all = [...keys, ...args, clock()].map(String)
    const reply = (await redis.eval(script, keys.length, ...all)) as number[]
    const ours = decision.policies.map(({ fits, charged, retryAfterMs }) => [
      charged ? 2 : fits ? 1 : 0,
      retryAfterMs,
    ])
    const byHand = decision.policies.map((_, at) => [reply[1 + 4 * at], reply[4 + 4 * at]])
    if (JSON.stringify(ours) !== JSON.stringify(byHand)) {
      throw new Error(`The script for ${contest.title} does not decide as the limiter does`)
    }
    seed = (seed * 48_271) % 2_147_483_647
    // Full and expired sets both: short gaps mostly, and now and then a long one.
    clock.advance(seed % (index % 30 === 0 ? 10 * LONGEST_GAP_MS : LONGEST_GAP_MS / 3))
  }
}
