import { resolve } from 'node:path'
import type { Denial, LogOptions } from '@sluice/replay'
import { textOf, type Command, type Result, type Values } from '../command.ts'
import { loadEnvFiles } from '../env-files.ts'
import { refuse } from '../errors.ts'
import { asLogError, assertInstalled, assertReadable } from '../replay/checks.ts'
import { findLimits } from '../replay/find-limits.ts'
import { loadPolicies } from '../replay/load-policies.ts'
import { inOrder } from '../replay/in-order.ts'
import { itemsOf, LOG_USAGE } from '../replay/log-options.ts'
import { openingBalanceOf } from '../replay/opening-balance.ts'
import { openOutput } from '../replay/output-file.ts'
import { createProgress } from '../replay/progress.ts'

export const replay: Command = {
  summary: 'who your limits would have denied, of a log',
  usage: `Usage: sluice replay LOG [options]

Replays a log through your limits, in memory and at the times of the log: who would have been denied, when, and
what it would have saved.

Limits
  --limits FILE         exports "limiter", or "policies" (and "plans", "prices"); default: limits.ts, also in src, lib,
                        app and server
  --against FILE        other limits, to compare with
  --except T1,T2        tenants that may be denied; all others count as normal
  --balance AMOUNT      what each balance of credits begins with: 50 for $50, or by tenant: acme=50,beta=20 (others 0)
                        (default: policies of credits are left out)
  --suggest             also find the smallest limits that deny nobody but --except
  --env FILE            the variables that the environment lacks (default: .env.local, .dev.vars, .env)

Log
${LOG_USAGE}
Output
  --denials FILE        write each denial as a line of JSON
`,
  takesArguments: true,

  async run(values, [log, ...others], { folder }) {
    if (log === undefined || others.length > 0)
      refuse('name one log, such as: sluice replay requests.csv. See: sluice replay --help')
    await assertInstalled()
    try {
      return await inOrder(values, (options) => run(log, values, folder, options))
    } catch (error) {
      throw asLogError(error)
    }
  },
}

async function run(
  path: string,
  values: Values,
  folder: string,
  logOptions: LogOptions,
): Promise<Result> {
  const { leftOutText, openLog, renderText, replay: replayLog } = await import('@sluice/replay')
  const [against, exceptText] = [textOf(values, 'against'), textOf(values, 'except')]
  const except = exceptText === undefined ? undefined : itemsOf('except', exceptText)
  loadEnvFiles(folder, textOf(values, 'env'))
  const set = await loadPolicies(folder, textOf(values, 'limits'), '--limits')
  const sets = [set]
  if (against !== undefined) sets.push(await loadPolicies(folder, against, '--against'))
  const openingBalance = openingBalanceOf(textOf(values, 'balance'), sets)
  const log = await openLog(resolve(folder, path), logOptions)
  const denialsPath = textOf(values, 'denials')
  const denials =
    denialsPath === undefined ? undefined : openOutput('--denials', resolve(folder, denialsPath))
  const progress = createProgress(process.stderr, 'replay')
  const calls = log.calls((share) => progress.update(share))
  const onDenied = denials && ((denial: Denial) => denials.write(denialLine(denial)))
  const result = await replayLog(calls, sets, { except, openingBalance, onDenied }).finally(() =>
    progress.end(),
  )
  denials?.close()
  const { facts } = log
  assertReadable(facts, result.log.used.calls)
  const suggestion = values['suggest'] === true ? await findLimits(log, set, except) : undefined
  return {
    text: renderText(result, facts, suggestion),
    json: { leftOut: leftOutText(facts), ...result, facts, suggestion },
  }
}

function denialLine({ call, set, decision }: Denial): string {
  const { reason, violated, retryAfterMs } = decision
  const at = new Date(call.at).toISOString()
  const { line, subject, units } = call
  const policy = violated?.name
  return `${JSON.stringify({ at, line, set, policy, reason, retryAfterMs, subject, units })}\n`
}
