import { createLimiter, manualClock } from '@sluice/core'
import { upstash } from '@sluice/core/upstash'
import type { Servers } from '../servers/servers.ts'
import type { Comparison } from './comparisons.ts'
import { NOW } from './lua.ts'

const DECISIONS = 300
const LIMIT = 20
const LONGEST_GAP_MS = 600_000

/** Reads the time from the last argument instead of Redis. */
const NOW_FROM_ARGUMENT = 'local now = tonumber(ARGV[#ARGV])\n'

/**
 * Throws unless the hand-written script and the limiter decide alike over the same history. A faster
 * script that decides otherwise is no reference.
 */
export async function assertAgreement(
  { url, token, redis }: Servers,
  comparison: Comparison,
): Promise<void> {
  const clock = manualClock(Date.now())
  const store = upstash({ url, token, timeoutMs: 10_000, prefix: 'agreement' })
  const limiter = createLimiter({ store, policies: comparison.policies(LIMIT), clock })
  const script = comparison.script.replace(NOW, NOW_FROM_ARGUMENT)
  let seed = 42
  for (let index = 0; index < DECISIONS; index += 1) {
    const decision = await limiter.check({ tenant: 'acme' })
    const { keys, args } = comparison.call(LIMIT, 'agreement', `i${index}`)
    const all = [...keys, ...args, clock()].map(String)
    const reply = (await redis.eval(script, keys.length, ...all)) as number[]
    const ours = decision.policies.map(({ fits, charged, retryAfterMs }) => [
      charged ? 2 : fits ? 1 : 0,
      retryAfterMs,
    ])
    const handWritten = decision.policies.map((_, at) => [reply[1 + 4 * at], reply[4 + 4 * at]])
    if (JSON.stringify(ours) !== JSON.stringify(handWritten)) {
      throw new Error(`The script for ${comparison.title} and the limiter decide differently`)
    }
    seed = (seed * 48_271) % 2_147_483_647
    // Mostly short gaps, which fill the sets, and a few long ones, which expire them.
    clock.advance(seed % (index % 30 === 0 ? 10 * LONGEST_GAP_MS : LONGEST_GAP_MS / 3))
  }
}
