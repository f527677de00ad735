import { StoreError } from '@sluice/core'
import { AUTHOR_USAGE } from '../author.ts'
import { changeSettings } from '../change-settings.ts'
import { textOf, type Command } from '../command.ts'
import { refuse } from '../errors.ts'
import { fullSubject, look } from '../look.ts'
import { limiterFor, LIMITER_USAGE } from '../limiter-options.ts'
import { settingsOf } from '../settings.ts'
import { stoppablePolicies, tenantIn } from '../stoppable.ts'
import { untilOf } from '../until.ts'

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
    const until = untilOf(textOf(values, 'until') ?? '365d')
    const { limiter, file } = await limiterFor(values, folder)
    const policies = stoppablePolicies(limiter, file)
    // Fails in the words of the store. A decision without it would have the code alone.
    await settingsOf(limiter, subject)
    const { policies: states, degraded } = await look(limiter, fullSubject(limiter, subject))
    if (degraded) throw new StoreError(degraded.cause, 'The store failed')
    const shadows = policies.filter(
      (name) => !states.some((state) => state.name === name && state.enforced),
    )
    if (shadows.length === policies.length)
      refuse(
        `${shadows.join(', ')} would deny nothing, in shadow mode: set mode=enforce for one of them first`,
      )
    // A change with an end: the settings of before apply again, and `sluice apply` leaves it.
    const changes = Object.fromEntries(policies.map((name) => [name, { limit: 0, until }]))
    return changeSettings(values, limiter, changes, subject)
  },
}
