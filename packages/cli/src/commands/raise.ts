import { AUTHOR_USAGE } from '../author.ts'
import { textOf, type Command } from '../command.ts'
import { refuse } from '../errors.ts'
import { LIMITER_USAGE } from '../limiter-options.ts'
import { SUBJECT_USAGE } from '../subject.ts'
import { set } from './set.ts'

export const raise: Command = {
  summary: 'another limit until a time, after which the old one applies again',
  usage: `Usage: sluice raise POLICY LIMIT --until TIME [--tenant NAME] [--yes] [options]

Sets a limit that ends by itself, of a policy whose limit runtimeConfiguration allows. Dollars are written with a sign:
'$20'. Without --yes, it shows what would change.

${SUBJECT_USAGE}
  --until TIME          the end: after 24h or 3d, at 2026-11-28T18:00Z, or with the window of a cap, or of
                        a session of a length: window
${AUTHOR_USAGE}
${LIMITER_USAGE}`,
  takesArguments: true,

  run(values, [policy, limit, ...others], place) {
    if (policy === undefined || limit === undefined || others.length > 0)
      refuse('name a policy and a limit, such as: sluice raise rpm 120 --until 24h')
    if (textOf(values, 'until') === undefined)
      refuse('say until when, such as --until 24h; for good, use sluice set')
    return set.run(values, [policy, `limit=${limit}`], place)
  },
}
