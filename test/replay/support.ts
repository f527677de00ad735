import { mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openLog, replay, policySet } from '@sluice/replay'
import type {
  Call,
  Limits,
  Log,
  LogOptions,
  ParsedLog,
  Replay,
  ReplayOptions,
} from '@sluice/replay'
import { parseLog } from '@sluice/replay/parse'
import { expect, inject } from 'vitest'

export const folder = mkdtempSync(join(inject('folder'), 'replay-'))
let files = 0

/** Returns a path in a folder that is removed after all tests. */
export const pathOf = (name: string): string => join(folder, `${(files += 1)}-${name}`)

/** Writes a file. */
export function write(name: string, content: string | Uint8Array): string {
  const path = pathOf(name)
  writeFileSync(path, content)
  return path
}

/** Shows a log that was read. Its parser counts a line that is too long once for each piece of the text. */
const shown = ({ format, facts }: ParsedLog, calls: readonly Call[]): string =>
  JSON.stringify([format, calls, { ...facts, malformed: facts.malformed.first[0] }])

/** Reads all calls of a text: from a file and, if it is not zipped, as a text, which must tell the same. */
export async function readCalls(
  text: string | Uint8Array,
  options: LogOptions & { name?: string } = {},
): Promise<{ calls: Call[]; log: Log }> {
  const { name = 'log.csv', ...logOptions } = options
  const log = await openLog(write(name, text), logOptions)
  const calls: Call[] = []
  for await (const call of log.calls()) calls.push(call)
  if (typeof text === 'string') {
    const parsed = await parseLog(text, logOptions)
    const same: Call[] = []
    for await (const call of parsed.calls()) same.push(call)
    expect(shown(parsed, same)).toBe(shown(log, calls))
  }
  return { calls, log }
}

/** Replays a text through limits. */
export async function replayText(
  text: string,
  limits: Limits | readonly Limits[],
  { log = {}, ...options }: ReplayOptions & { log?: LogOptions } = {},
): Promise<Replay> {
  const sets = [limits].flat().map((one, index) => policySet(`set ${index + 1}`, one))
  return replay((await openLog(write('log.csv', text), log)).calls(), sets, options)
}
