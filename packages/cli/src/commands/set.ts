import { setLimits } from '@sluice/core/operator'
import { AUTHOR_USAGE } from '../author.ts'
import { textOf, type Command } from '../command.ts'
import { refuse } from '../errors.ts'
import { limiterFor, LIMITER_USAGE } from '../limiter-options.ts'
import { taskOf } from '../task.ts'
import { SUBJECT_USAGE, subjectOf } from '../subject.ts'
import { pair } from '../wording.ts'

export const set: Command = {
  summary: 'change a limit at run time, for everyone or one tenant',
  usage: `Usage: sluice set POLICY SETTING=VALUE … [--tenant NAME] [--until TIME] [--yes] [options]

Changes settings that runtimeConfiguration allows: limit, burst, mode, enabled, enforced, and of a calendar zone and
anchor (zone=Asia/Tokyo anchor=2026-01-31T06). A value of "null" removes a setting, so that the code applies again.
Dollars are written with a sign: limit='$20'. A change until a time ends now: until=null, or any change without
--until. Without --yes, it shows what would change.

${SUBJECT_USAGE}
  --until TIME          the change ends by itself: after 24h or 3d, at 2026-11-28T18:00Z, or with the window of a
                        cap, or of a session of a length: window
${AUTHOR_USAGE}
${LIMITER_USAGE}`,
  takesArguments: true,

  async run(values, [policy, ...given], { folder }) {
    if (policy === undefined || given.length === 0)
      refuse(`name a policy and a setting, such as rpm and ${pair('limit', '30')}`)
    const settings = settingsIn(given)
    const task = taskOf(values, await limiterFor(values, folder))
    return setLimits(task, { policy, settings, until: textOf(values, 'until') }, subjectOf(values))
  },
}

function settingsIn(texts: readonly string[]): Readonly<Record<string, string>> {
  const settings: Record<string, string> = {}
  for (const text of texts) {
    const [, name, value] = /^([a-z]+)=(.+)$/.exec(text) ?? []
    if (name === undefined || value === undefined)
      refuse(`${text} must be a setting and its value, such as ${pair('limit', '30')}`)
    if (Object.hasOwn(settings, name)) refuse(`${name} is given twice`)
    settings[name] = value
  }
  return settings
}
