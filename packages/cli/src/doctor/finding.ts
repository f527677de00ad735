export interface Finding {
  /** Stable, for scripts. */
  readonly code: FindingCode
  readonly text: string
  readonly remedy: string
}

export const findingLines = (
  findings: readonly (Omit<Finding, 'code'> & { readonly code: string })[],
): string[] => findings.flatMap(({ code, text, remedy }) => [`${code}: ${text}`, `  ${remedy}`])

export const findingsAmong = <Found extends object>(
  results: readonly (Found | false | undefined)[],
): Found[] => results.filter((result) => typeof result === 'object')

type FindingCode =
  | 'missing_credentials'
  | 'invalid_credentials'
  | 'store_unreachable'
  | 'store_unauthorized'
  | 'store_failed'
  | 'store_slow'
  | 'store_in_memory'
  | 'clock_off'
  | 'eviction_on'
  | 'credits_evicted'
  | 'store_read_only'
  | 'only_shadows'
  | 'unknown_policy'
  | 'configuration_almost_full'
  | 'counts_anew'
  | 'route_unprotected'
  | 'matcher_gap'
  | 'secret_on_one_side'
  | 'prices_old'
  | 'model_ends'
  | 'fetch_cache'
  | 'client_retries'
  | 'versions_differ'
  | 'two_copies'
