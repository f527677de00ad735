import { start as startSubject } from '@sluice/core/operator'
import { AUTHOR_USAGE } from '../author.ts'
import type { Command } from '../command.ts'
import { limiterFor, LIMITER_USAGE } from '../limiter-options.ts'
import { taskOf, tenantIn } from '../task.ts'

export const start: Command = {
  summary: 'end what sluice stop has done',
  usage: `Usage: sluice start TENANT [--yes] [options]

Ends the stop of a tenant: its settings of before apply again, those for a time until their end, or those of the code.
Without --yes, it shows what would change.

${AUTHOR_USAGE}
${LIMITER_USAGE}`,
  takesArguments: true,

  async run(values, given, { folder }) {
    const subject = tenantIn('start', given)
    return startSubject(taskOf(values, await limiterFor(values, folder)), subject)
  },
}
