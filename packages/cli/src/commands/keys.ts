import { listApiKeys } from '@sluice/core/api-keys'
import { assertNotRefused } from '@sluice/core/internal/operator'
import { subjectText, timeText } from '@sluice/core/internal/text'
import { createKey, endKey, removeKey, replaceKey, type OperatorTask } from '@sluice/core/operator'
import { entryOf, optionNames, textOf, type Command, type Result, type Values } from '../command.ts'
import { refuse } from '../errors.ts'
import { table } from '../format.ts'
import { limiterFor, LIMITER_USAGE } from '../limiter-options.ts'
import { taskOf } from '../task.ts'
import { SUBJECT_USAGE, subjectOf } from '../subject.ts'

export const keys: Command = {
  summary: "make, replace and end a tenant's API keys",
  usage: `Usage: sluice keys --tenant NAME [options]
       sluice keys create --tenant NAME [--expires DURATION] [--yes] [options]
       sluice keys rotate KEY [--overlap DURATION] [--expires DURATION] [--yes] [options]
       sluice keys expire KEY --in DURATION [--yes] [options]
       sluice keys revoke KEY [--yes] [options]

Lists the API keys of a tenant, or changes them: those that apiKeys() of @sluice/core/api-keys accepts. KEY is the name
of a key, such as key_0123456789abcdef. Without --yes, it shows what would change.

${SUBJECT_USAGE}
  --expires DURATION    how long a new key is valid, such as 90d (default: until it is revoked; in place of another,
                        as long as that was made for)
  --overlap DURATION    how long the old key stays valid beside the new one; 0 ends it at once (default: 1d)
  --in DURATION         how long a key stays valid, from now; 0 ends it
  --prefix TEXT         what a new key begins with (default: sk_)
  --yes                 make the change
${LIMITER_USAGE}`,
  takesArguments: true,

  async run(values, positionals, { folder }) {
    const [name = 'list', id, ...others] = positionals
    const action = entryOf(ACTIONS, name, 'action', ' of sluice keys')
    if (others.length > 0 || (id !== undefined) !== action.needsKey) {
      const rule = action.needsKey ? 'needs the name of one key' : 'takes no name of a key'
      refuse(`sluice keys ${name} ${rule}. List them: sluice keys --tenant NAME`)
    }
    // A key in place of its name is not repeated: what is printed is kept in logs.
    if (id !== undefined && !NAME.test(id))
      refuse(
        `sluice keys ${name} needs the name of a key, such as key_0123456789abcdef, and no other text. List them: sluice keys --tenant NAME`,
      )
    const stray = Object.keys(values).find((one) => OWN.has(one) && !action.takes.includes(one))
    if (stray !== undefined) refuse(`--${stray} is not for sluice keys ${name}`)
    const task = taskOf(values, await limiterFor(values, folder))
    const { limiter } = task
    try {
      return await action.run(task, values, id ?? '')
    } catch (error) {
      await assertNotRefused(limiter, (error as { readonly code?: string }).code)
      throw error
    }
  },
}

const NAME = /^key_[0-9a-f]{16}$/

interface Action {
  readonly needsKey: boolean
  /** Of the options that not all actions have. */
  readonly takes: readonly string[]
  /** @param id The name of a key. Empty for an action that needs none. */
  readonly run: (task: OperatorTask, values: Values, id: string) => Promise<Result>
}

const OWN = new Set([...optionNames(SUBJECT_USAGE), 'expires', 'overlap', 'in', 'prefix', 'yes'])

const ACTIONS: Readonly<Record<string, Action>> = {
  list: { needsKey: false, takes: ['tenant'], run: list },
  create: {
    needsKey: false,
    takes: [...optionNames(SUBJECT_USAGE), 'expires', 'prefix', 'yes'],
    async run(task, values) {
      tenantOf(values)
      return createKey(task, subjectOf(values) ?? {}, newKeyTexts(values))
    },
  },
  rotate: {
    needsKey: true,
    takes: ['overlap', 'expires', 'prefix', 'yes'],
    run: (task, values, id) => replaceKey(task, id, newKeyTexts(values), textOf(values, 'overlap')),
  },
  expire: {
    needsKey: true,
    takes: ['in', 'yes'],
    run: (task, values, id) => endKey(task, id, textOf(values, 'in')),
  },
  revoke: { needsKey: true, takes: ['yes'], run: (task, _, id) => removeKey(task, id) },
}

const timeOrNever = (time: number | undefined): string =>
  time === undefined ? 'never' : timeText(time)

async function list({ limiter }: OperatorTask, values: Values): Promise<Result> {
  const found = await listApiKeys(limiter, tenantOf(values))
  const rows = found.map(({ id, subject, createdAt, expiresAt, lastUsedAt }) => [
    id,
    subjectText(subject),
    ...[createdAt, expiresAt, lastUsedAt].map(timeOrNever),
  ])
  return {
    text: table(['key', 'subject', 'created', 'expires', 'last used'], rows),
    json: { keys: found },
  }
}

const tenantOf = (values: Values): string =>
  textOf(values, 'tenant') || refuse('name whose keys, such as --tenant acme')

const newKeyTexts = (values: Values) => ({
  expires: textOf(values, 'expires'),
  prefix: textOf(values, 'prefix'),
})
