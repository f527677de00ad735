import { resetUse } from '@sluice/core/operator'
import { textOf, type Command } from '../command.ts'
import { limiterFor, LIMITER_USAGE } from '../limiter-options.ts'
import { taskOf } from '../task.ts'
import { SUBJECT_USAGE, subjectOf } from '../subject.ts'

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

  async run(values, _, { folder }) {
    const subject = subjectOf(values)
    const [policies, routes] = ['policies', 'routes'].map((name) =>
      textOf(values, name)?.split(','),
    )
    const task = taskOf(values, await limiterFor(values, folder))
    return resetUse(task, subject, { policies, routes, settings: values['settings'] === true })
  },
}
