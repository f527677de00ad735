import type { Policy } from './policy.ts'
import { createPolicy } from './define-rule.ts'
import { assertOptions } from '../internal/validation.ts'
import { assertLimitOption, type AnyLimitName, type Limit } from './limit.ts'
import { defineLogRules, type LogWindow, type SharedLogOptions } from './sliding-windows.ts'

/** Options of `projectLimits`. */
export interface ProjectLimitsOptions<
  Name extends string = AnyLimitName,
> extends Partial<SharedLogOptions> {
  /** Units in any 60 seconds. @default 60 */
  readonly minute?: Limit<Name>
  /** Units in any 60 minutes. @default 1_000 */
  readonly hour?: Limit<Name>
  /** Units in any 24 hours. @default 10_000 */
  readonly day?: Limit<Name>
}

/**
 * Limits the API keys of a project by the minute, the hour and the day: short for `slidingWindows` with
 * policies `project.minute`, `project.hour` and `project.day`. The defaults of `name` and `per` are
 * `'project'` and `['project']`.
 *
 * @throws ConfigError When an option is unknown or out of range.
 * @example
 * createLimiter({ store, policies: [projectLimits({ minute: ({ plan }) => plan.rpm })] })
 */
export function projectLimits<Name extends string = AnyLimitName>(
  options: ProjectLimitsOptions<Name> = {},
): Policy<string, string, Name> {
  assertOptions('projectLimits', options)
  const { minute = 60, hour = 1_000, day = 10_000 } = options
  const windows = new Map([
    windowOf('minute', minute, 60_000),
    windowOf('hour', hour, 3_600_000),
    windowOf('day', day, 86_400_000),
  ])
  const logOptions = { name: 'project', per: ['project'], ...options }
  return createPolicy(
    defineLogRules('projectLimits', logOptions, ['minute', 'hour', 'day'], windows),
  )
}

function windowOf(name: string, limit: Limit, windowMs: number): [string, LogWindow] {
  return [name, { limit: assertLimitOption(`projectLimits.${name}`, limit), windowMs }]
}
