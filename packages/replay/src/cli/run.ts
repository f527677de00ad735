import { basename } from 'node:path'
import type { Suggestion } from '../limits/suggest-limits.ts'
import type { LogFacts } from '../log/facts.ts'
import type { Log } from '../log/open-log.ts'
import type { PolicySet } from '../simulation/policy-set.ts'
import type { ReplayArgs } from './options.ts'
import { suggestLimits } from '../limits/suggest-limits.ts'
import { counted } from '../report/format.ts'
import { optionError } from '../option-error.ts'
import { openLog } from '../log/open-log.ts'
import { renderText } from '../report/text.ts'
import { replay, type Denial } from '../simulation/replay.ts'
import { loadLimits } from './load-limits.ts'
import { openOutput } from './output-file.ts'
import { createProgress } from './progress.ts'

/** Runs a replay as the command line says, and prints its result. */
export async function runReplay(args: ReplayArgs): Promise<void> {
  const set = await loadLimits('policies', args.policies)
  const sets = [set]
  if (args.against !== undefined) sets.push(await loadLimits('against', args.against))
  const log = await openLog(args.log, args.logOptions)
  const page = args.html === undefined ? undefined : openOutput('html', args.html)
  const denials = args.denials === undefined ? undefined : openOutput('denials', args.denials)
  const progress = createProgress(process.stderr, 'replay')
  const result = await replay(
    log.calls((share) => progress.update(share)),
    sets,
    {
      except: args.except,
      onDenied: denials && ((denial) => denials.write(denialLine(denial))),
    },
  ).finally(() => progress.end())
  denials?.close()
  const { facts } = log
  assertReadable(facts, result.log.used.calls)
  const suggestion = args.suggest ? await search(log, set, args.except) : undefined
  if (page) {
    // Loaded for this option only: drawing needs a large library.
    const { renderHtml } = await import('../report/html.ts')
    page.write(await renderHtml({ title: basename(args.log), replay: result, facts, suggestion }))
    page.close()
  }
  const text = args.json
    ? JSON.stringify({ ...result, facts, suggestion }, null, 2)
    : renderText(result, facts, suggestion)
  process.stdout.write(`${text}\n`)
}

/** Fails if most lines cannot be read: a report of the others would say little. @throws ConfigError */
function assertReadable({ malformed: { count: lines, first } }: LogFacts, calls: number): void {
  if (lines <= calls) return
  const [{ line, reason } = { line: 0, reason: '' }] = first
  const message = `has ${counted(lines, 'line')} that cannot be read, and ${counted(calls, 'call')}`
  throw optionError('log', `${message}; line ${line}: ${reason}. See --format and --columns`)
}

async function search(
  log: Log,
  set: PolicySet,
  except: readonly string[] | undefined,
): Promise<Suggestion> {
  let reading = 0
  let progress = createProgress(process.stderr, 'search')
  const read: Log['calls'] = () => {
    progress.end()
    reading += 1
    progress = createProgress(process.stderr, `search, reading ${reading}`)
    return log.calls((share) => progress.update(share))
  }
  return suggestLimits(read, set, { except }).finally(() => progress.end())
}

function denialLine({ call, set, decision }: Denial): string {
  const { reason, violated, retryAfterMs } = decision
  const at = new Date(call.at).toISOString()
  const { line, subject, units } = call
  const policy = violated?.name
  return `${JSON.stringify({ at, line, set, policy, reason, retryAfterMs, subject, units })}\n`
}
