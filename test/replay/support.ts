import { mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openLog, replay, policySet } from '@sluice/replay'
import type { Call, Limits, Log, LogOptions, Replay, ReplayOptions } from '@sluice/replay'
import { inject } from 'vitest'

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

/** Reads all calls of a text. */
export async function readCalls(
  text: string | Uint8Array,
  options: LogOptions & { name?: string } = {},
): Promise<{ calls: Call[]; log: Log }> {
  const { name = 'log.csv', ...logOptions } = options
  const log = await openLog(write(name, text), logOptions)
  const calls: Call[] = []
  for await (const call of log.calls()) calls.push(call)
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
