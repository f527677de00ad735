/* The project of an operator, and an instance of its app that runs elsewhere. */
import type { Limiter } from '@sluice/core'
import { freshPrefix } from '../support/stores.ts'
import { BUDGET_FILE, instanceOf, limitsFile, type Way } from './limits.ts'
import { envOf, project, type Project } from './project.ts'
import type { Ran } from './run-here.ts'

export const ACME = { tenant: 'acme', route: 'chat' }
export const FREE = { cost: { request: 1, usd: 0 } }

export interface Operator {
  readonly app: Project
  readonly running: Limiter
  /** Returns the limit of `rpm` that another instance decides by. */
  readonly limitOf: (subject?: typeof ACME) => Promise<number | 'unlimited' | undefined>
}

interface OperatorOptions {
  readonly prefix?: string
  readonly more?: string
  readonly way?: Way
  readonly redisUrl?: string
}

/** Returns the variables of a file of limits. */
export const variablesOf = (local: { url: string; token: string }, redisUrl: string): string =>
  `${envOf(local)}REDIS_URL=${redisUrl}\n`

/**
 * Creates a project with counts of its own.
 *
 * @param options.more What else its file of limits has.
 * @param options.way The way of its commands to the Redis.
 */
export function createOperator(
  local: { url: string; token: string },
  { prefix = freshPrefix(), more = '', way = 'REST', redisUrl = '' }: OperatorOptions = {},
): Operator {
  const instance = (): Limiter => instanceOf(local, prefix)
  return {
    app: project({
      'src/limits.ts': limitsFile(prefix, way) + more,
      'src/budget.ts': BUDGET_FILE,
      '.env.local': variablesOf(local, redisUrl),
    }),
    running: instance(),
    limitOf: async (subject = ACME) => (await instance().peek(subject, FREE)).policies[0]?.limit,
  }
}

/** Returns what a command has printed as JSON. */
export const jsonOf = ({ out }: Ran): Record<string, unknown> => JSON.parse(out) as never
