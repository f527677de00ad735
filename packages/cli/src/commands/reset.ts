import { removeConfiguration } from '@sluice/core/configuration'
import { amountText } from '@sluice/core/internal/text'
import type { Command } from '../command.ts'
import { textOf } from '../command.ts'
import { CommandError } from '../errors.ts'
import { limiterFor, LIMITER_OPTIONS, LIMITER_USAGE } from '../limiter-options.ts'
import { look } from '../look.ts'
import { SUBJECT_OPTIONS, SUBJECT_USAGE, subjectOf, subjectText } from '../subject.ts'
import { usedOf } from './show.ts'

export const reset: Command = {
  summary: 'let a tenant begin anew',
  usage: `Usage: sluice reset --tenant NAME [--yes] [options]

Removes what a subject has used. Policies that count everyone together are reset only if you name them. Without --yes,
it shows what would be removed.

${SUBJECT_USAGE}
  --policies A,B        only these
  --routes A,B          the routes of policies that count by route, if --route is not given
  --settings            also remove its settings
  --yes                 do it
${LIMITER_USAGE}`,
  options: {
    ...SUBJECT_OPTIONS,
    ...LIMITER_OPTIONS,
    policies: { type: 'string' },
    routes: { type: 'string' },
    settings: { type: 'boolean' },
    yes: { type: 'boolean' },
  },

  async run(values, _, { folder }) {
    const subject = subjectOf(values)
    if (!subject) throw new CommandError('name who begins anew, such as --tenant acme')
    const { limiter } = await limiterFor(values, folder)
    const [policies, routes] = ['policies', 'routes'].map((name) =>
      textOf(values, name)?.split(','),
    )
    const options = { ...(policies && { policies }), ...(routes && { routes }) }
    const isMade = values['yes'] === true
    const used = []
    for (const route of routes ?? [undefined]) {
      const one = route === undefined ? subject : { ...subject, route }
      for (const state of (await look(limiter, one)).policies) {
        if (policies ? !policies.includes(state.name) : state.scope === 'global') continue
        used.push({
          ...(route !== undefined && { route }),
          policy: state.name,
          used: usedOf(state),
          unit: state.unit,
        })
      }
    }
    if (isMade) {
      if (values['settings'] === true) await removeConfiguration(limiter, subject, options)
      await limiter.reset(subject, options)
    }
    const lines = used.map(
      (one) =>
        `${one.policy}${one.route === undefined ? '' : ` on ${one.route}`}: ${amountText(one.used, one.unit)} used`,
    )
    const end = isMade ? 'Removed.' : 'Nothing is removed. Add --yes to remove it.'
    return {
      text: [subjectText(subject), ...lines, end].join('\n'),
      json: { subject, used, made: isMade },
    }
  },
}
