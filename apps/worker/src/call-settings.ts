import { ConfigError } from '@sluice/core'
import type { Env } from './env.ts'
import { tenantIdsIn } from './spend/recording.ts'

/** The treatment of calls: their time, their size, and their records. */
export interface CallSettings {
  /** The time in which a provider must begin to answer, in milliseconds. */
  readonly answerMs: number
  /** The longest pause within an answer, in milliseconds. */
  readonly idleMs: number
  /** The time for which a tenant's calls to a provider that does not answer are refused, in milliseconds. */
  readonly pauseMs: number
  /** The charge of a call without an answer: its estimate, or nothing. */
  readonly unanswered: 'keep' | 'release'
  /** The charge of an answer that breaks off: its estimate, or what was counted as it passed. */
  readonly incomplete: 'keep' | 'counted'
  /** The largest body of a call, in bytes. */
  readonly maxBodyBytes: number
  /** True if each call is logged. */
  readonly logsCalls: boolean
  /** True if the log has the ids of tenants as they are, and not their digests. */
  readonly logsTenants: boolean
}

/** The name of a variable. */
type Setting = Exclude<keyof Env, 'LIMITS'>

/** A reservation is settled within an hour, or its estimate is final. */
const MAX_SECONDS = 3_300

/** An isolate has 128 MB, and holds a body several times while it is read, checked and sent. */
const MAX_BODY_BYTES = 16_000_000

/** Reads the treatment of calls. Throws a `ConfigError` that names the variable at fault. */
export function callSettings(env: Env): CallSettings {
  return {
    answerMs: 1_000 * wholeNumber(env, 'ANSWER_TIMEOUT_SECONDS', 600, 1, MAX_SECONDS),
    idleMs: 1_000 * wholeNumber(env, 'IDLE_TIMEOUT_SECONDS', 300, 1, MAX_SECONDS),
    pauseMs: 1_000 * wholeNumber(env, 'PAUSE_SECONDS', 30, 0, MAX_SECONDS),
    unanswered: oneOf(env, 'UNANSWERED', ['keep', 'release']),
    incomplete: oneOf(env, 'INCOMPLETE', ['keep', 'counted']),
    maxBodyBytes: wholeNumber(env, 'MAX_BODY_BYTES', 4_000_000, 1, MAX_BODY_BYTES),
    logsCalls: oneOf(env, 'LOG_CALLS', ['on', 'off']) === 'on',
    logsTenants: tenantIdsIn(env.TENANT_IDS) === 'plain',
  }
}

function wholeNumber(env: Env, name: Setting, usual: number, least: number, most: number): number {
  const value = Number(env[name] || usual)
  if (Number.isInteger(value) && value >= least && value <= most) return value
  throw new ConfigError('invalid_option', name, `must be a whole number from ${least} to ${most}`)
}

/** The first choice is the default. */
function oneOf<Choice extends string>(env: Env, name: Setting, choices: [Choice, Choice]): Choice {
  const value = env[name] || choices[0]
  const found = choices.find((choice) => choice === value)
  if (found !== undefined) return found
  throw new ConfigError('invalid_option', name, `must be ${choices.join(' or ')}`)
}
