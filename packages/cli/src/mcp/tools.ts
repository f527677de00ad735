/* The commands that an agent may run, as tools of the Model Context Protocol. */
import { realpathSync, statSync } from 'node:fs'
import { isAbsolute, relative, resolve } from 'node:path'
import { attempt } from '@sluice/core/internal/limiter'
import { refuse } from '../errors.ts'

/** The JSON Schema of one argument. */
type Argument = {
  readonly type: 'string' | 'boolean' | 'object' | 'array'
  readonly description: string
}

export interface Tool {
  readonly name: string
  readonly description: string
  readonly arguments: Readonly<Record<string, Argument>>
  readonly required?: readonly string[]
  /** True if it may change something. */
  readonly changes?: true
  /** The arguments that are no options of the command, in its order. @default none */
  readonly operands?: readonly string[]
}

export type Given = Readonly<Record<string, unknown>>

const argument =
  (type: Argument['type']) =>
  (description: string): Argument => ({ type, description })
const [text, flag, pairs] = [argument('string'), argument('boolean'), argument('object')]
const list = argument('array')

const SUBJECT: Tool['arguments'] = {
  subject: pairs(
    'Whose requests: names and values of dimensions, such as { "tenant": "acme", "route": "chat" }',
  ),
}
const YES = flag('Without true, it shows what would change')
const POLICY = text('The name of a policy, as in show')

export const TOOLS: readonly Tool[] = [
  {
    name: 'show',
    description: 'The limits, and what was changed at run time. With a subject, what it has left.',
    arguments: SUBJECT,
  },
  {
    name: 'why',
    description:
      'Why a request is denied now: which limit denies, who has used it up, when it fits, and what would let it pass. With id, why one request of the last day was denied; with recent, those that were.',
    arguments: {
      ...SUBJECT,
      cost: pairs('What it asks for, such as { "token": "1200", "usd": "$0.05" }'),
      id: text('The X-Request-Id of a 429'),
      recent: flag('List the denials that are recorded'),
      top: text('The most of them to list'),
    },
    required: ['subject'],
  },
  {
    name: 'usage',
    description:
      'Who used what, as recorded: requests, denials, tokens and dollars of each tenant.',
    arguments: {
      from: text('A date, or a duration before now, such as 24h'),
      to: text('As from'),
      by: text('The period to sum up by: hour, day, week, month or year'),
      zone: text('The time zone of periods and dates, such as Europe/Berlin'),
      tenants: list('Only these tenants'),
      top: text('The most tenants to list'),
    },
  },
  {
    name: 'log',
    description: 'Who has changed which setting, when and why: the newest first.',
    arguments: { top: text('The most changes') },
  },
  {
    name: 'preview',
    description:
      'What the settings of the file of limits would have denied of a log of requests, compared with those in force. Without a log: what they decide of the recorded denials of a tenant.',
    arguments: {
      log: text('The path of the log in the project: CSV or lines of JSON'),
      format: text('csv, jsonl, otlp, access or alb, if it is not recognised'),
      columns: text('The columns that have other names, such as "time=ts,tenant=org_id"'),
      start: text('The time from which the log counts seconds'),
      model: text('The model of calls without one'),
      'reorder-calls': text(
        'The calls to hold back, to put them in order: any order for twice as many',
      ),
      'usage-period': text('The time of a row of sums, such as 1d'),
      top: text('The most tenants or denials to list'),
      suggest: flag('Also find the smallest limits that deny nobody but except'),
      except: list('Tenants that may be denied'),
      denials: flag('Decide the recorded denials of tenant, without log'),
      tenant: text('The tenant whose denials these are'),
    },
    operands: ['log'],
  },
  {
    name: 'doctor',
    description: 'What is wrong with the set-up, each with its remedy.',
    arguments: {},
  },
  {
    name: 'set',
    description: 'Changes settings of a policy at run time, for everyone or for a subject.',
    arguments: {
      ...SUBJECT,
      policy: POLICY,
      settings: pairs(
        'Such as { "limit": "30" }, { "limit": "$20" } or { "zone": "Asia/Tokyo" }; "null" removes one',
      ),
      until: text('The change ends by itself: after 24h, or at a time with a zone'),
      note: text('Why, for the log'),
      yes: YES,
    },
    required: ['policy', 'settings'],
    changes: true,
    operands: ['policy', 'settings'],
  },
  {
    name: 'undo',
    description: 'Takes the last change of the settings back.',
    arguments: {
      'if-version': text(
        'Only if nobody has changed the settings since: the version that it has shown',
      ),
      note: text('Why, for the log'),
      yes: YES,
    },
    changes: true,
  },
]

const LOG_NAME = /\.(?:csv|tsv|jsonl?|ndjson|log|txt)(?:\.gz)?$/

/** Returns the real path of a log. A link in the project may lead to a file outside, or to its secrets. */
function logOf(folder: string, path: string): string {
  if (isLogName(path)) {
    const root = realpathSync(folder)
    const file = attempt(() => realpathSync(resolve(root, path)), undefined)
    if (file === undefined) refuse(`there is no file ${path} in the project`)
    if (isLogName(relative(root, file)) && statSync(file).isFile()) return file
  }
  return refuse(
    'log must be a file of the project such as requests.csv: .csv, .tsv, .jsonl, .json, .ndjson, .log or .txt, also with .gz, in no folder that begins with a dot. A link must lead to such a file',
  )
}

/** Returns true for the path of a log below a folder, which needs no secrets beside it. */
const isLogName = (path: string): boolean =>
  !isAbsolute(path) &&
  LOG_NAME.test(path) &&
  path.split(/[\\/]/).every((part) => part !== '' && !part.startsWith('.'))

/** Returns the command line of a call, in the folder of the project. @throws CommandError */
export function commandLine({ name, operands = [] }: Tool, given: Given, folder: string): string[] {
  const { subject, ...others } = given
  const options = Object.entries(others).filter(([each]) => !operands.includes(each))
  const texts = operands.flatMap((each) => {
    const value = given[each]
    if (value === undefined) return []
    if (each === 'log') return logOf(folder, textOf(value))
    return isPairs(value) ? pairsOf(value) : textOf(value)
  })
  return [
    name,
    ...subjectOf(subject),
    ...options.flatMap(optionOf),
    ...(texts.length > 0 ? ['--', ...texts] : []),
  ]
}

function subjectOf(subject: unknown): string[] {
  for (const [name, value] of Object.entries(subject ?? {})) {
    if (typeof value === 'string' || typeof value === 'number') continue
    refuse(`"subject": "${name}" must be a text, such as "acme"`)
  }
  return pairsOf(subject ?? {}).map((pair) =>
    /^(?:tenant|user|route|model|plan)=/.test(pair) ? `--${pair}` : `--subject=${pair}`,
  )
}

const isPairs = (value: unknown): value is object =>
  typeof value === 'object' && !Array.isArray(value)

const pairsOf = (object: object): string[] =>
  Object.entries(object).map(([name, value]) => `${name}=${textOf(value)}`)

function optionOf([name, value]: readonly [name: string, value: unknown]): string[] {
  if (value === undefined || value === false) return []
  if (value === true) return [`--${name}`]
  return [`--${name}=${isPairs(value) ? pairsOf(value).join(',') : textOf(value)}`]
}

/** Returns an argument as a command line has it. */
export function textOf(value: unknown): string {
  if (typeof value === 'string') return value
  return Array.isArray(value) ? value.map(textOf).join(',') : JSON.stringify(value)
}
