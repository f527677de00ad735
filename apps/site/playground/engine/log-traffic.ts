import { LIST_PRICES, priceOf } from '@sluice/ai'
import type { Call } from '@sluice/replay/parse'
import type { Arrival, Traffic } from './arrivals.ts'
import { isOfProduct, optionOf, refused, type Issue } from './issue.ts'
import { MAX_LOG_BYTES } from './log-file.ts'
import { partsOf } from './log-parts.ts'

/** The calls after which a page may look at the time. */
const PAUSE_EVERY = 500

const NEEDED =
  'CSV with commas and a first line such as "time,tenant,cost", JSON with these names, or an access log'

/** The requests of a log, at their own times. */
interface LogCalls {
  readonly calls: Required<Arrival>[]
  /** The calls whose model has no price. */
  readonly unpriced: number
}

/**
 * Returns the requests of a log, at their times. Their tokens and dollars are the real use of the calls.
 *
 * @throws Issue When a line cannot be read, or there are more than `most`.
 */
export async function logTraffic(
  text: string,
  most: number,
  pause?: () => Promise<void>,
): Promise<Traffic> {
  if (text.trim() === '')
    throw refused('traffic.log', 'log', 'is empty: choose a file, or write lines (a link has none)')
  if (text.length > MAX_LOG_BYTES) throw refused('traffic.log', 'log', 'must be at most 10 MB')
  const { calls, unpriced } = await readCalls(text, most, pause).catch((error: unknown) => {
    throw isOfProduct(error) ? logIssue(optionOf(error), error.reason, text) : error
  })
  calls.sort((a, b) => a.at - b.at)
  const startMs = calls[0]?.at
  if (startMs === undefined) throw refused('traffic.log', 'log', 'has no requests')
  return {
    startMs,
    arrivals: calls.map(({ at, tenant, used }) => ({ at: at - startMs, tenant, used })),
    unpriced,
    retryIn: () => undefined,
  }
}

async function readCalls(
  text: string,
  most: number,
  pause: (() => Promise<void>) | undefined,
): Promise<LogCalls> {
  // Only a page that reads a log loads its parsers.
  const { parseLog } = await import('@sluice/replay/parse')
  const { format } = await parseLog(text)
  const calls: Required<Arrival>[] = []
  let unpriced = 0
  let malformed = 0
  let first: { readonly line: number; readonly reason: string } | undefined
  // Only the parser of CSV reads all of its text at once.
  for (const part of format === 'csv' ? partsOf(text) : [{ text, linesBefore: 0 }]) {
    const log = await parseLog(part.text)
    for await (const call of log.calls()) {
      const { at, subject, units } = call
      const usd = dollarsOf(call)
      if (usd === null) unpriced += 1
      const used = { ...units, ...(usd !== undefined && { usd: usd ?? 0 }) }
      if (calls.push({ at, tenant: subject.tenant, used }) > most) {
        const count = most.toLocaleString('en-US')
        throw refused('traffic.log', 'log', `must have at most ${count} requests`)
      }
      if (pause && calls.length % PAUSE_EVERY === 0) await pause()
    }
    await pause?.()
    malformed += log.facts.malformed.count
    const [fault] = log.facts.malformed.first
    if (fault) first ??= { ...fault, line: fault.line + part.linesBefore }
  }
  if (!first) return { calls, unpriced }
  const others = malformed > 1 ? `; ${malformed} lines cannot be read` : ''
  // The page has no option by which seconds could count from a start.
  const reason = first.reason
    .replace('; if it counts seconds, set "start"', '')
    // The parser of CSV counts the lines of its part.
    .replace(/ on line \d+/, '')
  throw refused('traffic.log', 'log', `line ${first.line}: ${reason}${others}`)
}

/** Words a mistake of the whole log: the page has no options that would name its columns. */
function logIssue(option: string, reason: string, text: string): Issue {
  if (option === 'reorderCalls') {
    const where = /line .*$/.exec(reason)?.[0] ?? ''
    return refused('traffic.log', 'log', `must be sorted by time, unless it is CSV: ${where}`)
  }
  const has = /the log has these: .*$/.exec(reason)?.[0]
  const [line = ''] = text.trimStart().split('\n', 1)
  const separator = [';', '\t'].find((mark) => line.includes(mark) && !line.includes(','))
  const lacks = reason.includes('the tenant') ? 'tenant' : 'time'
  const why =
    separator !== undefined
      ? `its columns are divided by ${separator === ';' ? 'semicolons' : 'tabs'}`
      : option === 'columns'
        ? `it has no column "${lacks}"${has && lacks === 'time' ? `; ${has}` : ''}`
        : reason
  return refused('traffic.log', 'log', `must be ${NEEDED}: ${why}`)
}

/** Returns the cost that the log tells, or the list price; `null` if the model has none, `undefined` if the log tells too little. */
function dollarsOf({ subject: { model }, units }: Call): number | null | undefined {
  const { usd, input_token: input, output_token: output } = units
  if (usd !== undefined || model === undefined) return usd
  if (input === undefined || output === undefined) return undefined
  try {
    return priceOf({ input, output }, model, LIST_PRICES)
  } catch (error) {
    if (isOfProduct(error) && error.code === 'unknown_model') return null
    throw error
  }
}
