/* Changes of the record of live prices, each with its author. */
import { extensionHandle, type Limiter } from '@sluice/core'
import type { PastChange } from '@sluice/core/configuration'
import {
  assertAuthor,
  changesBetween,
  editDocument,
  pastChanges,
  putSettings,
  readDocument,
  settingsAt,
  takeLastBack,
} from '@sluice/core/internal/configuration'
import {
  assertOptionRules,
  assertText,
  invalidOption,
  type OptionRules,
} from '@sluice/core/internal'
import { isObject } from '../json.ts'
import type { ModelPrice } from '../prices/prices.ts'
import { acceptedIn } from './accept-feed.ts'
import { pricesInFeed } from './feeds.ts'
import { priceIn } from './listed-entry.ts'
import { PRICES, type PriceCopy } from './price-copy.ts'
import { assertFeedUrl, readFeed } from './read-feed.ts'

/** Options of a change of prices. */
export interface PriceChangeOptions {
  /** The author, such as an operator's name. At most 100 characters. */
  readonly by?: string
  /** The reason. At most 500 characters. */
  readonly note?: string
  /** The version that it is made for, as a preview returned it. @default any */
  readonly version?: string
  /** True to return what would change, and change nothing. @default false */
  readonly preview?: boolean
}

/** A change of one model's price. */
export interface ChangedPrice {
  readonly model: string
  /** `undefined` for a model that has the price of the code, or none. */
  readonly from: ModelPrice | undefined
  readonly to: ModelPrice | undefined
}

/** The changes of prices that were made, or would be. */
export interface PriceChanges {
  /** The version after them; of a preview, the version before. */
  readonly version: string
  readonly changes: readonly ChangedPrice[]
}

/** A change in the history of prices. */
export interface PastPriceChange extends Omit<PastChange, 'changes'>, PriceChanges {}

/** A limiter with `livePrices` in its `extensions`, or such prices whose limiter exists already. */
type LiveSource = Limiter | PriceCopy

/** Returns the copy of a limiter's live prices. @throws ConfigError When it has none. */
export const copyOf = (source: LiveSource): PriceCopy =>
  'prepare' in source ? source : extensionHandle<PriceCopy>(source, PRICES, 'livePrices')

/**
 * Sets prices while the app runs, by model; `null` removes one, so that the price of the code applies again. Isolates
 * apply it within a minute.
 *
 * @throws ConfigError When the limiter has no `livePrices`, or a price is malformed, or lower than allowed.
 * @throws StoreError When the store fails; `store_conflict` when somebody has changed prices since `version`.
 * @example
 * await setPrices(limiter, { 'gpt-6.1-sol': { input: 2_000_000, output: 12_000_000 } }, { by: 'ann' })
 */
export async function setPrices(
  limiter: Limiter,
  prices: Readonly<Record<string, ModelPrice | null>>,
  options: PriceChangeOptions = {},
): Promise<PriceChanges> {
  const copy = copyOf(limiter)
  const named = Object.entries(prices).map(
    ([model, price]) =>
      [model.toLowerCase(), price && priceIn(model.toLowerCase(), price, copy.terms)] as const,
  )
  const edit = (entries: readonly unknown[]): unknown[] => {
    let edited = [...entries]
    for (const [model, price] of named) {
      edited = putSettings(edited, model, undefined, price ?? undefined)
    }
    return edited
  }
  return change(copy, { edit, options })
}

/**
 * Pulls a public list of prices into the record: models that the code does not list, and prices that are higher than
 * there; lower ones with `allowLower` of `livePrices`. Prices that were set by hand stay.
 *
 * @param feed The text of genai-prices', LiteLLM's or models.dev's JSON, or its address. @default `url` of `livePrices`
 * @throws ConfigError When the limiter has no `livePrices`, or no list is given and `livePrices` has no `url`.
 * @throws Error When the list cannot be read, or is malformed or out of bounds. Nothing changes then.
 * @throws StoreError As `setPrices` does.
 * @example
 * const { changes } = await pullPrices(limiter, undefined, { preview: true })
 */
export async function pullPrices(
  limiter: LiveSource,
  feed?: { readonly text: string; readonly source: string } | { readonly url: string },
  options: PriceChangeOptions = {},
): Promise<PriceChanges> {
  const copy = copyOf(limiter)
  const { url, text, source = url } = listOf(copy, feed)
  const now = copy.document.clock()
  const list = text ?? (await readFeed({ ...copy.feed, url }))
  const accepted = acceptedIn(pricesInFeed(list, copy.feed.vendors, source, now), copy.terms)
  const edit = (entries: readonly unknown[]): unknown[] => {
    let edited = [...entries]
    const listed = new Map(accepted)
    const names = new Set(entries.map((entry) => (entry as { policy: string }).policy))
    for (const name of names) {
      const isOfFeed = settingsAt(entries, name, undefined)?.['feed'] === true
      if (!isOfFeed) listed.delete(name)
      else if (!listed.has(name)) edited = putSettings(edited, name, undefined, undefined)
    }
    for (const [name, price] of listed) {
      const before = settingsAt(edited, name, undefined)
      // The same price of another day is no change.
      if (before && isSamePrice(before, price)) continue
      edited = putSettings(edited, name, undefined, { ...price, feed: true })
    }
    return edited
  }
  return change(copy, { edit, options })
}

const MUST_BE_LIST = 'must be { url }, or { text, source }'
const LIST_RULES: OptionRules<{ url: string; text: string; source: string }> = {
  url: assertFeedUrl,
  text: assertText,
  source: assertText,
}

/** Returns a list that is given, or the address of that of `livePrices`. @throws ConfigError When there is none. */
function listOf(
  { feed: { url } }: PriceCopy,
  given: unknown,
): { readonly url: string; readonly text?: string; readonly source?: string } {
  if (given === undefined) {
    if (url !== '') return { url }
    throw invalidOption('pullPrices.feed', `${MUST_BE_LIST}, because livePrices has no url`)
  }
  if (!isObject(given)) throw invalidOption('pullPrices.feed', MUST_BE_LIST, given)
  const isText = 'text' in given || 'source' in given
  assertOptionRules(
    'pullPrices.feed',
    given,
    LIST_RULES,
    ...(isText ? ['text', 'source'] : ['url']),
  )
  return { url, ...given }
}

/**
 * Takes back the last change of prices that is not taken back yet. Returns no changes if there is none.
 *
 * @throws ConfigError When a price of before is not allowed any more.
 * @throws StoreError As `setPrices` does; `store_conflict` also when the price has been changed since.
 * @example
 * await undoPrices(limiter, { by: 'ann' })
 */
export async function undoPrices(
  limiter: Limiter,
  options: PriceChangeOptions = {},
): Promise<PriceChanges> {
  const copy = copyOf(limiter)
  let undone = ''
  return change(copy, {
    options,
    undoes: () => undone,
    edit(entries, history) {
      const last = takeLastBack(entries, history, copy.document.clock(), ({ policy, from }) => {
        if (from) priceIn(policy, from, copy.terms)
      })
      undone = last?.version ?? ''
      return last?.entries ?? [...entries]
    },
  })
}

/**
 * Reads what has changed in the live prices, the newest first: at most 100 changes.
 *
 * @throws ConfigError When the limiter has no `livePrices`.
 * @throws StoreError When the store fails.
 * @example
 * const [latest] = await readPriceHistory(limiter)
 */
export async function readPriceHistory(limiter: Limiter): Promise<readonly PastPriceChange[]> {
  const { history } = await readDocument(copyOf(limiter).document)
  return pastChanges(history).map(pastPriceChange).toReversed()
}

type Edit = Parameters<typeof editDocument>[1]

async function change(
  copy: PriceCopy,
  { options, ...edit }: Pick<Edit, 'edit' | 'undoes'> & { readonly options: PriceChangeOptions },
): Promise<PriceChanges> {
  const { preview = false, version, ...names } = options
  const author = assertAuthor('livePrices', names)
  if (preview) {
    const { version: seen = '', entries, history } = await readDocument(copy.document)
    const changes = changesBetween(entries, edit.edit(entries, history))
    return { version: seen, changes: changes.map(changedPrice) }
  }
  const made = await editDocument(copy.document, { ...edit, author, version })
  const changes = made?.changes.map(changedPrice) ?? []
  return { version: made?.version ?? version ?? '', changes }
}

function changedPrice({ policy, from, to }: PastChange['changes'][number]): ChangedPrice {
  const price = (stored: typeof from) => stored as ModelPrice | undefined
  return { model: policy, from: price(from), to: price(to) }
}

const pastPriceChange = (past: PastChange): PastPriceChange => ({
  ...past,
  changes: past.changes.map(changedPrice),
})

const isSamePrice = (one: object, other: object): boolean => ratesText(one) === ratesText(other)

function ratesText(price: object): string {
  const { asOf: _, source: _source, feed: _feed, ...rates } = price as Record<string, unknown>
  return JSON.stringify(rates)
}
