import { AUTHOR_USAGE } from '../author.ts'
import { changeSettings } from '../change-settings.ts'
import type { Command } from '../command.ts'
import { limiterFor, LIMITER_USAGE } from '../limiter-options.ts'
import { stoppablePolicies, tenantIn } from '../stoppable.ts'
import { endOfStop, stopsOf } from '../stop-of.ts'

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
    const { limiter, file } = await limiterFor(values, folder)
    const policies = stoppablePolicies(limiter, file)
    const stopped = (await stopsOf(limiter, subject.tenant)).filter(({ policy }) =>
      policies.includes(policy),
    )
    if (stopped.length === 0) {
      const text = `${subject.tenant} is not stopped.`
      return { text, json: { subject, policies: [], made: false } }
    }
    const changes = await Promise.all(
      stopped.map(
        async ({ policy }) => [policy, await endOfStop(limiter, policy, subject.tenant)] as const,
      ),
    )
    return changeSettings(values, limiter, Object.fromEntries(changes), subject)
  },
}
