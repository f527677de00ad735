import type { Usage } from '@sluice/ai'
import type { CallNotes, Units } from './call-notes.ts'
import type { CallSettings } from './call-settings.ts'

/** Writes a line for a request that is over. */
export type CallLog = (notes: CallNotes, status: number) => Promise<void>

/**
 * Creates the log of calls: a line of JSON for each, with nothing of its content.
 *
 * @param print Prints a line. @default console.log
 */
export function createCallLog(
  { logsCalls, logsTenants }: Pick<CallSettings, 'logsCalls' | 'logsTenants'>,
  print: (line: string) => void = (line) => console.log(line),
): CallLog {
  return async (notes, status) => {
    if (!logsCalls) return
    const { id, startedAt, subject, asked, model, skipped, provider, upstreamId, charged } = notes
    const { tenant, key } = (subject ?? {}) as Readonly<Record<string, string | undefined>>
    const line = {
      time: new Date(startedAt).toISOString(),
      request: id,
      address: notes.address,
      key,
      tenant: tenant === undefined || logsTenants ? tenant : await digestOf(tenant),
      asked,
      model,
      skipped,
      provider,
      providerRequest: upstreamId,
      status,
      ms: Date.now() - startedAt,
      charged: charged ?? {},
      outcome: notes.outcome ?? (status < 400 ? 'answered' : 'refused'),
    }
    print(JSON.stringify(line))
  }
}

/** The first 16 digits of a SHA-256: enough to find the lines of one tenant. */
export async function digestOf(text: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))
  const digits = Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0'))
  return digits.join('').slice(0, 16)
}

/** Returns the units that stay charged once an answer is over: at least those that are kept of its reservation. */
export function chargedFor({ input, output }: Usage, usd: number, kept: Units = {}): Units {
  const used: Units = { token: input + output, usd }
  const units = Object.entries(used).map(([unit, count]) => [
    unit,
    Math.max(count, kept[unit] ?? 0),
  ])
  return Object.fromEntries(units) as Units
}
