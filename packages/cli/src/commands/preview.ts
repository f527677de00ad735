import { resolve } from 'node:path'
import type { Limiter } from '@sluice/core'
import {
  compareConfiguration,
  type DesiredEntry,
  type EntrySettings,
} from '@sluice/core/configuration'
import { settingsOf } from '@sluice/core/internal/operator'
import type { Prices } from '@sluice/ai'
import type { Log, LogOptions, Mistake, PolicySet } from '@sluice/replay'
import { settingLines } from '../change-text.ts'
import { countOf, optionNames, textOf, type Command, type Values } from '../command.ts'
import { desiredIn } from '../desired.ts'
import { storedNames } from '../doctor/policies.ts'
import { refuse } from '../errors.ts'
import { limiterFor, LIMITER_USAGE } from '../limiter-options.ts'
import { asLogError, assertInstalled, assertReadable } from '../replay/checks.ts'
import { inOrder } from '../replay/in-order.ts'
import { itemsOf, LOG_USAGE } from '../replay/log-options.ts'
import { collectNewDenials } from '../replay/newly-denied.ts'
import {
  previewComment,
  previewText,
  type Preview,
  type SmallestLimits,
} from '../replay/preview-text.ts'
import { previewDenials } from '../replay/denials-preview.ts'
import { createProgress } from '../replay/progress.ts'
import { findLimits } from '../replay/find-limits.ts'
import { operand, option } from '../wording.ts'

export const preview: Command = {
  summary: 'what sluice apply would have denied, of a log',
  usage: `Usage: sluice preview LOG [options]
       sluice preview --denials --tenant NAME [options]

Decides a log twice, in memory: by the limits in force, which are those of the code with the settings in the store,
and by those of the code with "configuration" of your file of limits, which sluice apply would write. It changes
nothing. With --denials, decides the denials of a tenant that recordDenials keeps for a day, by the new limits.

  --top N               the most tenants to list (default: 10)
  --suggest             also find the smallest limits that deny nobody but --except
  --except T1,T2        tenants that may be denied
  --denials             decide recorded denials, instead of a log
  --tenant NAME         the tenant whose denials these are
  --comment             print Markdown, for a comment on a pull request
${LIMITER_USAGE}
Log
${LOG_USAGE}
`,
  takesArguments: true,

  async run(values, [log, ...others], { folder }) {
    const tenant = tenantOf(values, log)
    if (tenant === undefined && (log === undefined || others.length > 0))
      refuse(`name one ${operand('log')}, such as requests.csv`)
    if (values['json'] === true && values['comment'] === true)
      refuse(`${option('json')} and ${option('comment')} cannot be given together`)
    const top = countOf(values, 'top', 10)
    const except = exceptOf(values)
    await assertInstalled()
    const { limiter, file, exported } = await limiterFor(values, folder)
    const desired = desiredIn(file, exported)
    const { changes } = await compareConfiguration(limiter, desired)
    const lines = settingLines(limiter, changes)
    if (tenant !== undefined) {
      const { text, json, leftOut } = await previewDenials(limiter, tenant, desired, top)
      const note = (await settingsOf(limiter)).some(isTemporary) ? [UNTIL_NOTE] : []
      return {
        text: [
          ...(leftOut === undefined ? [] : [leftOut, '']),
          ...lines,
          ...(lines.length > 0 ? [''] : []),
          text,
          ...note,
        ].join('\n'),
        json: { ...json, changes },
      }
    }
    try {
      const prices = exported['prices'] as Prices | undefined
      const limits = { limiter, desired, prices, except }
      const path = resolve(folder, log as string)
      const found = await inOrder(values, (options) => decide(path, values, limits, options))
      const result: Preview = { ...found, changes: lines }
      const text = values['comment'] === true ? previewComment : previewText
      return { text: text(result, top), json: { ...result, changes } }
    } catch (error) {
      throw asLogError(error)
    }
  },
}

const NOW = 'in force'

function tenantOf(values: Values, log: string | undefined): string | undefined {
  const tenant = textOf(values, 'tenant')
  if ((values['denials'] === true) !== (tenant !== undefined))
    refuse(`${option('denials')} and ${option('tenant', 'NAME')} need each other`)
  if (tenant === undefined) return undefined
  if (log !== undefined) refuse(`${option('denials')} takes no log`)
  const ofLogs = [...optionNames(LOG_USAGE), 'suggest', 'except', 'comment']
  const given = ofLogs.find((name) => values[name] !== undefined)
  if (given === undefined) return tenant
  return refuse(`${option(given)} is for a log, and ${option('denials')} has none`)
}

function exceptOf(values: Values): readonly string[] | undefined {
  const text = textOf(values, 'except')
  if (text === undefined) return undefined
  if (values['suggest'] === true) return itemsOf('except', text)
  return refuse(
    `${option('except')} needs ${option('suggest')}: it names who may be denied by the smallest limits`,
  )
}

interface Limits {
  readonly limiter: Limiter
  readonly desired: readonly DesiredEntry[]
  readonly prices: Prices | undefined
  /** Tenants that a suggestion may deny. */
  readonly except: readonly string[] | undefined
}

async function decide(
  path: string,
  values: Values,
  { limiter, desired, prices, except }: Limits,
  logOptions: LogOptions,
): Promise<Omit<Preview, 'changes'>> {
  const { boundDenials, compare, findMistakes, leftOutText, openLog, policySet, readingNotes } =
    await import('@sluice/replay')
  const stored = await settingsOf(limiter)
  const sets = [
    policySet(NOW, { limiter, prices, configuration: stored.filter(isLasting).map(lastingOf) }),
    policySet('file', { limiter, prices, configuration: desired }),
  ] as const
  const log = await openLog(path, logOptions)
  const denials = collectNewDenials(NOW)
  const progress = createProgress(process.stderr, 'preview')
  const mistakes = findMistakes(sets[1], prices)
  const calls = log.calls((share) => progress.update(share))
  const result = await compare(calls, sets, {
    onCall: (call) => mistakes.add(call),
    onDenied: (denial) => denials.add(denial),
  }).finally(() => progress.end())
  assertReadable(log.facts, result.log.used.calls)
  if (result.log.used.calls === 0)
    refuse(`${operand('log')} has no call: nothing can be tried on it`)
  const countsDollars = sets.some(({ rules }) => rules.some(({ unit }) => unit === 'usd'))
  const bounds =
    log.sums && log.spreadMs !== undefined
      ? await boundDenials(log.sums(), log.spreadMs, sets)
      : undefined
  return {
    leftOut: leftOutText(log.facts),
    log: { calls: result.log.used.calls, from: result.log.from, to: result.log.to },
    stillDenied: result.comparison.bothDeny,
    nowAllowed: result.comparison.onlyFirstDenies,
    newlyDenied: denials.read(),
    bounds,
    commands: bounds ? undefined : result.commands,
    smallest: values['suggest'] === true ? await smallestLimits(log, sets[1], except) : undefined,
    mistakes: [
      ...(await mistakes.find(result.policies)),
      ...(await storedNames(limiter)).map(renamed),
    ],
    unreached: result.policies.filter(({ fullest, denied }) => denied === 0 && fullest < 1),
    notes: [
      'A denied call is not sent again: what clients would not have sent after a denial, or sent again, is not known.',
      ...(bounds
        ? [
            'The log has sums: "at least" and "at most" hold for any order of their calls. Elsewhere their calls are spread evenly, so limits of less than a row deny less than they would.',
          ]
        : []),
      ...(stored.some(isTemporary) ? [UNTIL_NOTE] : []),
      ...readingNotes(result.log, log.facts, countsDollars),
      ...sets[1].omitted.map(({ name, reason }) => `${name} is left out: ${reason}.`),
    ],
  }
}

async function smallestLimits(
  log: Log,
  set: PolicySet,
  except: readonly string[] | undefined,
): Promise<SmallestLimits> {
  const { suggestionNotes, suggestionTable } = await import('@sluice/replay')
  const found = await findLimits(log, set, except)
  return { ...found, table: suggestionTable(found), notes: suggestionNotes(found) }
}

const renamed = (policy: string): Mistake => ({
  policy,
  text: `The store has settings of ${policy}, which no policy is named, so they do not apply: name the policy so again, or set them for its new name.`,
})

const UNTIL_NOTE = 'Changes until a time are left out: they end by themselves.'

const isTemporary = ({ temporary }: EntrySettings): boolean => temporary !== undefined

const isLasting = ({ settings }: DesiredEntry): boolean => Object.keys(settings).length > 0

const lastingOf = ({ policy, subject, settings }: DesiredEntry): DesiredEntry => ({
  policy,
  subject,
  settings,
})
