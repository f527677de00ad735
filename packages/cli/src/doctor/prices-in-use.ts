/* The prices of the models that a project uses, and what is wrong with them. */
import { resolve } from 'node:path'
import type { ModelPrice, Prices } from '@sluice/ai'
import type { LivePrice } from '@sluice/ai/live-prices'
import type { Limiter } from '@sluice/core'
import { settingsOf, unlessLacking } from '@sluice/core/internal/operator'
import { installed } from '../errors.ts'
import { callsModel } from '../source/models.ts'
import { nameOf, nodesIn, textIn } from '../source/module.ts'
import { modulesWith, readProject, type ProjectSource } from '../source/project-source.ts'
import { lowerThanBill, type PriceFinding } from './bill.ts'
import { findingsAmong } from './finding.ts'
import { CALL_ANOTHER, DAY_MS, judgePrices, MAX_AGE_DAYS, NOTICE_DAYS } from './prices.ts'

export interface UsedModel {
  readonly model: string
  readonly price: ModelPrice | undefined
  /** The file that names it, or `the settings`, or `the store`. */
  readonly from: string
}

interface PriceSource {
  readonly limiter: Limiter
  readonly exported: Readonly<Record<string, unknown>>
  readonly folder: string
  /** A log of calls, whose models count as used, too. */
  readonly log?: string | undefined
}

/**
 * Returns the models that the source, the settings and the store name, with the prices that apply now.
 *
 * @param bill A bill as CSV, whose costs are compared with the prices.
 * @throws CommandError When `@sluice/ai` is not installed, or the bill is malformed.
 */
export async function pricesInUse(
  { limiter, exported, folder, log }: PriceSource,
  bill?: string,
): Promise<{ used: readonly UsedModel[]; findings: readonly PriceFinding[] }> {
  const source = readProject(folder)
  const prices = await tableOf(limiter, exported)
  const { readPrices } = await import('@sluice/ai/live-prices')
  const live: readonly LivePrice[] = await unlessLacking(readPrices(limiter), [])
  const models = new Map<string, string>(namedIn(source, prices))
  for (const { subject } of await settingsOf(limiter)) {
    const model = subject?.['model']
    if (model !== undefined && !models.has(model)) models.set(model, 'the settings')
  }
  for (const { model, feed } of live) {
    if (!feed && !models.has(model)) models.set(model, 'the store')
  }
  if (log !== undefined) {
    for (const model of await namedInLog(resolve(folder, log))) {
      if (!models.has(model)) models.set(model, log)
    }
  }
  const used = [...models].map(([model, from]): UsedModel => {
    return { model, from, price: prices.get(prices.nameOf(model) ?? '') }
  })
  const isLive = ({ model }: UsedModel): boolean =>
    live.some((one) => one.model === prices.nameOf(model))
  const now = Date.now()
  const findings = [
    ...used.filter(({ price }) => !price).map(missingPrice),
    ...(await judgePrices(source, now)),
    ...used.filter(isLive).flatMap((one) => faultsOf(one, now)),
    ...(bill === undefined ? [] : lowerThanBill(bill, prices)),
  ]
  return { used, findings }
}

/** Returns the table that applies now. Without live prices, that of the file. */
async function tableOf(
  limiter: Limiter,
  { prices }: Readonly<Record<string, unknown>>,
): Promise<Prices> {
  const { LIST_PRICES } = await installed('@sluice/ai', () => import('@sluice/ai'))
  const { currentPrices } = await import('@sluice/ai/live-prices')
  const isTable = typeof (prices as Partial<Prices> | undefined)?.nameOf === 'function'
  return unlessLacking(currentPrices(limiter), isTable ? (prices as Prices) : LIST_PRICES)
}

const DOORS = /\b(?:modelHandler|limitedFetch|limitedModel|withBudget)\b/

/** Returns the models that the source names where it calls models, by name, each with a file. */
function namedIn(source: ProjectSource, prices: Prices): Map<string, string> {
  const found = new Map<string, string>()
  for (const module of modulesWith(source, (text) => /model/i.test(text))) {
    const { path, program } = module
    if (!DOORS.test(source.texts.get(path) ?? '') && !callsModel(module)) continue
    for (const node of nodesIn(program)) {
      const isModel = node.type === 'ObjectProperty' && nameOf(node['key']) === 'model'
      const model = textIn(isModel ? node['value'] : node)
      if (model === undefined || found.has(model)) continue
      if (isModel || prices.nameOf(model) !== undefined) found.set(model, path)
    }
  }
  return found
}

/** Returns the models of the calls in a log. @throws ConfigError When it cannot be read. */
async function namedInLog(path: string): Promise<Set<string>> {
  const { openLog } = await installed('@sluice/replay', () => import('@sluice/replay'))
  const log = await openLog(path)
  const models = new Set<string>()
  for await (const { subject } of log.sums?.() ?? log.calls()) {
    if (subject.model !== undefined) models.add(subject.model)
  }
  return models
}

const missingPrice = ({ model, from }: UsedModel): PriceFinding => ({
  code: 'price_missing',
  text: `${model} (${from}) has no price`,
  remedy: `sluice prices set ${model} input='$2' output='$12', with its own numbers, or list it by definePrices`,
})

/** Returns the faults of a live price: those of the code are judged as by doctor. */
function faultsOf({ model, price }: UsedModel, now: number): PriceFinding[] {
  const { asOf = '', endsOn = '' } = price ?? {}
  return findingsAmong<PriceFinding>([
    now - Date.parse(asOf) > MAX_AGE_DAYS * DAY_MS && {
      code: 'prices_old',
      text: `the live price of ${model} is older than ${MAX_AGE_DAYS} days: it is of ${asOf}`,
      remedy: 'compare it with its vendor, and set it again, or pull a list',
    },
    Date.parse(endsOn) - now < NOTICE_DAYS * DAY_MS && {
      code: 'model_ends',
      text: `the vendor shuts down ${model} on ${endsOn}`,
      remedy: CALL_ANOTHER,
    },
  ])
}
