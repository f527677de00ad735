import { setTimeout as delay } from 'node:timers/promises'
import { durationOf } from '@sluice/core/internal/operator'
import type { UsageRow } from '@sluice/usage/report'
import { countOf, textOf, type Command } from '../command.ts'
import { installed, refuse } from '../errors.ts'
import { limiterFor, LIMITER_USAGE } from '../limiter-options.ts'
import { isTerminal, writeResult } from '../output.ts'
import { heaviestFirst, rowsSince, sumsByTenant, sumsTable, type Sums } from '../usage-sums.ts'
import { option } from '../wording.ts'

/** An hour, in milliseconds: what was recorded before the running hour begins to end. */
const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000

/** The time in which processes save usage once, by default: a shorter one would see nothing, or five times as much. */
const FLUSH_MS = 5_000

export const top: Command = {
  summary: 'who spends now: the heaviest tenants of the last seconds',
  usage: `Usage: sluice top [--every DURATION] [--top N] [options]

Reads what recordUsage has recorded twice, and shows the difference, by tenant, the largest first. Processes save it every 5
seconds, so no shorter time is taken. In a terminal, it goes on until Ctrl-C.

  --every DURATION      the time between two reads, from 5s (default: 10s)
  --top N               the most lines (default: 10)
${LIMITER_USAGE}`,

  async run(values, _, { folder, stopSignal }) {
    const { limiter } = await limiterFor(values, folder)
    const { usage } = await installed('@sluice/usage', () => import('@sluice/usage/report'))
    const read = async (from: number): Promise<readonly UsageRow[]> =>
      (await usage(limiter, { from })).rows
    const everyMs = everyOf(textOf(values, 'every') ?? '10s')
    const most = countOf(values, 'top', 10)
    const isLive = isTerminal() && values['json'] !== true
    const signal = isLive ? stopSignal() : undefined

    let readAt = Date.now()
    let before = await read(readAt - HOUR_MS)

    /** Waits, and returns what was added meanwhile. */
    async function next(): Promise<readonly [tookMs: number, [tenant: string, Sums][]]> {
      await delay(everyMs, undefined, { ...(signal && { signal }) })
      const now = Date.now()
      const after = await read(now - HOUR_MS)
      const sums = heaviestFirst(sumsByTenant(rowsSince(before, after)))
      const tookMs = now - readAt
      ;[before, readAt] = [after, now]
      return [
        tookMs,
        sums.filter(([, { requests, denied, usd }]) => requests + denied > 0 || usd !== 0),
      ]
    }

    if (!signal) {
      const [tookMs, sums] = await next()
      const tenants = sums.map(([tenant, own]) => ({ tenant, ...own }))
      return { text: rateText(tookMs, sums, most), json: { tookMs, tenants } }
    }
    await writeResult(`Who spends now: the first lines in ${everyMs / 1_000} s. Ctrl-C ends it.\n`)
    return { text: '', json: undefined, ended: refresh(next, most, signal) }
  },
}

/** Shows each difference in place of the one before, until the signal aborts. Returns the exit code. */
async function refresh(
  next: () => Promise<readonly [number, [string, Sums][]]>,
  most: number,
  signal: AbortSignal,
): Promise<number> {
  let height = 1
  for (;;) {
    try {
      const text = rateText(...(await next()), most)
      await writeResult(`\u001B[${height}A\u001B[J${text}\n`)
      height = text.split('\n').length
    } catch (error) {
      if (signal.aborted) return 0
      throw error
    }
  }
}

/** Returns what was used in a time, for a minute. */
function rateText(tookMs: number, sums: readonly [tenant: string, Sums][], most: number): string {
  const head = `In the last ${Math.round(tookMs / 1_000)} s, for a minute:`
  if (sums.length === 0) return `${head} nothing was recorded.`
  const rate = (count: number): number => Math.round((count * MINUTE_MS) / tookMs)
  return [head, ...sumsTable(sums, most, rate)].join('\n')
}

function everyOf(text: string): number {
  const ms = durationOf(text)
  if (ms !== undefined && ms >= FLUSH_MS && ms <= HOUR_MS) return ms
  return refuse(
    `${option('every')} ${text} must be a duration from 5s, in which processes save usage, to 1h`,
  )
}
