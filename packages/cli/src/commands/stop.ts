import { stop as stopSubject } from '@sluice/core/operator'
import { AUTHOR_USAGE } from '../author.ts'
import { textOf, type Command } from '../command.ts'
import { limiterFor, LIMITER_USAGE } from '../limiter-options.ts'
import { taskOf, tenantIn } from '../task.ts'

export const stop: Command = {
  summary: 'deny everything of one tenant, until sluice start',
  usage: `Usage: sluice stop TENANT [--until TIME] [--yes] [options]

Sets each limit that counts by tenant alone, on all routes, to 0, in one step. It needs runtimeConfiguration, which allows
the limit of at least one such policy. Calls that have begun go on, and are settled. Without --yes, it shows what would change.

  --until TIME          the end: after 24h or 3d, or at 2026-11-28T18:00Z (default: after a year)
${AUTHOR_USAGE}
${LIMITER_USAGE}`,
  takesArguments: true,

  async run(values, given, { folder }) {
    const subject = tenantIn('stop', given)
    const task = taskOf(values, await limiterFor(values, folder))
    return stopSubject(task, subject, textOf(values, 'until'))
  },
}
