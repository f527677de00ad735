import { OFFICIAL_CALLS, type Ask } from './official-calls.ts'
import { callsOfSdk } from './sdk-calls.ts'

/** The calls of all clients. */
export const CLIENT_CALLS: Readonly<Record<string, Ask>> = {
  ...OFFICIAL_CALLS,
  ...callsOfSdk('ai 5'),
  ...callsOfSdk('ai 6'),
  ...callsOfSdk('ai 7'),
}
