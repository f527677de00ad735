/* Findings about a store, from a few decisions that charge nothing. */
import { setTimeout as delay } from 'node:timers/promises'
import { ConfigError, type Decision, type Limiter } from '@sluice/core'
import { runtimeOf } from '@sluice/core/internal/limiter'
import { fullSubject, look } from '@sluice/core/internal/operator'
import { durationText } from '@sluice/core/internal/text'
import { asCommandError } from '../errors.ts'
import { pair } from '../wording.ts'
import { findingsAmong, type Finding } from './finding.ts'

/** Above this, most of what a request waits for is the network, in milliseconds. */
const SLOW_MS = 100

/** The most that a clock may be off. */
const CLOCK_MS = 2_000

const LOOKS = 5

/** The findings of a store, and whether it has decided itself. */
export interface StoreReport {
  readonly findings: readonly Finding[]
  readonly isShared: boolean
}

const failedBy = (finding: Finding): StoreReport => ({ findings: [finding], isShared: false })

export async function judgeStore(limiter: Limiter): Promise<StoreReport> {
  const subject = fullSubject(limiter, {})
  const tookMs: number[] = []
  const times = new Set<number>()
  let last: Decision | undefined
  for (let count = 0; count < LOOKS; count += 1) {
    const startedAt = performance.now()
    try {
      last = await look(limiter, subject)
    } catch (error) {
      return failedBy(failed(error))
    }
    tookMs.push(performance.now() - startedAt)
    if (last.degraded) return failedBy(degraded(last.degraded.cause))
    times.add(last.at)
    // Decisions may be faster than a millisecond.
    await delay(1)
  }
  // The first has opened the connection, and sent the script.
  const median = Math.round(
    tookMs.slice(1).toSorted((a, b) => a - b)[Math.floor(LOOKS / 2) - 1] ?? 0,
  )
  const offMs = (last?.at ?? 0) - Date.now()
  const findings = findingsAmong<Finding>([
    last?.source === 'memory' && {
      code: 'store_in_memory',
      text: 'the store is the memory of one process: each instance of your app counts by itself',
      remedy:
        'in production, use a store that all instances share: upstash(), redis(…) or durableObjects(…)',
    },
    last?.source !== 'memory' &&
      median > SLOW_MS && {
        code: 'store_slow',
        text: `a decision takes ${median} ms from here`,
        remedy: 'create the database in the region in which your code runs; run this there, too',
      },
    // A clock of your own may stand still.
    last?.source === 'store' &&
      times.size === 1 &&
      !runtimeOf(limiter).clockIsInjected && {
        code: 'fetch_cache',
        text: `a cache answers instead of the store: ${LOOKS} decisions in a row have the same time`,
        remedy: "let the fetch of upstash() cache nothing: cache: 'no-store'",
      },
    Math.abs(offMs) > CLOCK_MS + median && {
      code: 'clock_off',
      text: `decisions are made by a clock that is ${durationText(Math.abs(offMs))} ${offMs < 0 ? 'behind' : 'ahead of'} this machine's`,
      remedy:
        'set the clock of the machine or of Redis (NTP), and pass no clock to createLimiter in production',
    },
    last !== undefined &&
      last.policies.length > 0 &&
      last.policies.every(({ enforced }) => !enforced) && {
        code: 'only_shadows',
        text: 'every policy is in shadow mode: nothing is ever denied',
        remedy: `remove mode: 'shadow' from those that you have tried, or set ${pair('mode', 'enforce')} for them at run time`,
      },
  ])
  return { findings, isShared: last?.source === 'store' }
}

function failed(error: unknown): Finding {
  const { code, message } = error as { code?: unknown; message: string }
  if (code === 'store_refused') {
    return {
      code: 'store_failed',
      text: 'the store answers, but does not decide (store_refused)',
      remedy: (asCommandError(error) as Error).message,
    }
  }
  if (
    error instanceof ConfigError &&
    code === 'invalid_option' &&
    /^upstash\.(url|token)$/.test(error.option)
  ) {
    return {
      code: 'invalid_credentials',
      text: `${error.option.replace('upstash.', '')} of the store ${error.reason}`,
      remedy: 'copy UPSTASH_REDIS_REST_URL and UPSTASH_REDIS_REST_TOKEN from your database again',
    }
  }
  if (code !== 'missing_credentials') throw error
  return {
    code: 'missing_credentials',
    text: message,
    remedy:
      'copy both variables from your database into .env.local, and into the environment of each deployment',
  }
}

function degraded(cause: string): Finding {
  if (cause === 'store_unauthorized') {
    return {
      code: 'store_unauthorized',
      text: 'the store refuses the credentials',
      remedy:
        'copy the token again: the one that may write, of the database of this address; of a TCP client, check the username and password',
    }
  }
  if (cause === 'store_unreachable' || cause === 'store_timeout') {
    return {
      code: 'store_unreachable',
      text: `the store does not answer (${cause})`,
      remedy:
        'check the address, and that this machine may reach it; if it is only slow from here, raise timeoutMs',
    }
  }
  return {
    code: 'store_failed',
    text: `the store answers, but does not decide (${cause})`,
    remedy: `look up ${cause} in the documentation's Errors: it may refuse scripts, be full, or be down behind its address`,
  }
}
