import { existsSync, readFileSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import type { Limiter } from '@sluice/core'
import type { PriceChangeOptions, PriceChanges } from '@sluice/ai/live-prices'
import { AUTHOR_USAGE } from '../author.ts'
import { countOf, entryOf, textOf, type Command, type Result, type Values } from '../command.ts'
import { findingLines } from '../doctor/finding.ts'
import { openaiShutdowns } from '../doctor/openai-shutdowns.ts'
import { pricesInUse } from '../doctor/prices-in-use.ts'
import { installed, refuse } from '../errors.ts'
import { table } from '../format.ts'
import { limiterFor, LIMITER_USAGE } from '../limiter-options.ts'
import type { LoadedLimiter } from '../load-limiter.ts'
import { priceLine, priceOfTexts, priceText } from '../price-text.ts'
import { changeSeen, VERSION_USAGE } from '../seen-version.ts'
import { command, option } from '../wording.ts'
import { headOf } from './log.ts'

export const prices: Command = {
  summary: 'what models cost: show, check, set, and pull a list from the web',
  usage: `Usage: sluice prices [list | check] [options]
       sluice prices set MODEL input='$2' output='$12' … [--yes] [options]
       sluice prices set MODEL null [--yes] [options]
       sluice prices pull FILE|URL [--yes] [options]
       sluice prices log [--top N] [options]
       sluice prices undo [--yes] [options]

Shows the prices of the models that your code, your settings and a log name, finds those that are missing, old or soon without
a model, and changes prices in the store, where livePrices of @sluice/ai/live-prices reads them: set one in dollars per
million tokens (null removes it), or pull the JSON of genai-prices, LiteLLM or models.dev. Without --yes, it shows what
would change.

  --log FILE            a log of calls, as sluice replay reads it, whose models are listed and checked, too
  --bill FILE           a bill as CSV, to check prices by: model, input, output (tokens) and cost (dollars)
  --openai              ask OpenAI, with OPENAI_API_KEY, which of the models it shuts down
  --top N               the most changes of the log (default: 20)
${VERSION_USAGE}
${AUTHOR_USAGE}
${LIMITER_USAGE}`,
  takesArguments: true,

  async run(values, [name = 'list', ...texts], { folder }) {
    const action = entryOf(ACTIONS, name, 'action', ' of sluice prices')
    const { takes: [least, most] = [0, 0], says = 'no names' } = action
    if (texts.length < least || texts.length > most) refuse(`sluice prices ${name} takes ${says}`)
    const loaded = await limiterFor(values, folder)
    return action.run({ ...loaded, values, texts, folder, log: textOf(values, 'log') })
  },
}

interface Call extends LoadedLimiter {
  readonly values: Values
  readonly texts: readonly string[]
  readonly folder: string
  readonly log: string | undefined
}

interface Action {
  /** The least and the most texts behind its name. @default none */
  readonly takes?: readonly [least: number, most: number]
  readonly says?: string
  run(call: Call): Promise<Result>
}

// eslint-disable-next-line typescript/explicit-function-return-type -- the module, which only this command loads
const live = () => installed('@sluice/ai', () => import('@sluice/ai/live-prices'))

const today = (): string => new Date().toISOString().slice(0, 10)

const ACTIONS: Readonly<Record<string, Action>> = {
  list: {
    async run(call) {
      const { used } = await pricesInUse(call)
      const rows = used.map(({ model, price, from }) => [
        model,
        price ? priceText(price) : 'none',
        from,
        price?.source ?? '',
      ])
      const text = table(['model', 'dollars per million tokens', 'named in', 'page'], rows)
      return { text: rows.length > 0 ? text : 'No model is named.', json: { prices: used } }
    },
  },
  check: {
    async run(call) {
      const bill = textOf(call.values, 'bill')
      const { used, findings: ofPrices } = await pricesInUse(
        call,
        bill === undefined ? undefined : readText(call.folder, bill),
      )
      const isAsked = call.values['openai'] === true
      const findings = [...ofPrices, ...(isAsked ? await openaiShutdowns(used) : [])]
      return {
        text: findingLines(findings).join('\n') || 'Every model in use has a price of today.',
        json: { findings },
        exitCode: findings.length > 0 ? 1 : 0,
      }
    },
  },
  set: {
    takes: [2, 20],
    says: "a model and its price, such as gpt-7 input='$2' output='$12'",
    async run({ values, texts: [model = '', ...rates], limiter }) {
      const { setPrices } = await live()
      const price = rates.join() === 'null' ? null : priceOfTexts(rates, today())
      return changed('set', values, limiter, (options) =>
        setPrices(limiter, { [model]: price }, options),
      )
    },
  },
  pull: {
    takes: [0, 1],
    says: 'one file or address',
    async run({ values, texts: [from], limiter, folder }) {
      const { pullPrices } = await live()
      const isFile = from !== undefined && !/^https?:/.test(from)
      const feed = isFile
        ? { text: readText(folder, from), source: basename(from) }
        : from === undefined
          ? undefined
          : { url: from }
      try {
        return await changed('pull', values, limiter, (options) =>
          pullPrices(limiter, feed, options),
        )
      } catch (error) {
        if (error instanceof Error && error.constructor === Error)
          refuse(`${from ?? 'the list'} ${error.message}. Nothing is changed`)
        throw error
      }
    },
  },
  log: {
    async run({ values, limiter }) {
      const { readPriceHistory } = await live()
      const shown = (await readPriceHistory(limiter)).slice(0, countOf(values, 'top', 20))
      const lines = shown.flatMap((past) => [
        headOf(past),
        ...past.changes.map((change) => `  ${priceLine(change)}`),
      ])
      return { text: lines.join('\n') || 'Nothing has been changed.', json: { changes: shown } }
    },
  },
  undo: {
    async run({ values, limiter }) {
      const { undoPrices } = await live()
      return changed('undo', values, limiter, (options) => undoPrices(limiter, options))
    },
  },
}

/** Shows a change, and makes it with `--yes`. */
async function changed(
  name: string,
  values: Values,
  limiter: Limiter,
  change: (options: PriceChangeOptions) => Promise<PriceChanges>,
): Promise<Result> {
  const result = await changeSeen(values, limiter, await change({ preview: true }), change)
  const end = result.made
    ? `Changed. It applies in every isolate within a minute. To take it back: ${command('prices undo')}`
    : `Nothing is changed. Add ${option('yes', true)} to change it.`
  const lines = result.changes.map(priceLine)
  const none = NOTHING[name] ?? 'The price is that already.'
  return { text: lines.length > 0 ? [...lines, end].join('\n') : none, json: result }
}

const NOTHING: Readonly<Record<string, string>> = {
  undo: 'There is no change to take back.',
  pull: 'The list has nothing that your prices lack.',
}

function readText(folder: string, path: string): string {
  const file = resolve(folder, path)
  if (existsSync(file)) return readFileSync(file, 'utf8')
  return refuse(`there is no file ${path}`)
}
