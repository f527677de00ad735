/** Something that is wrong, and its remedy. */
export interface Finding {
  /** Stable, for scripts. */
  readonly code: FindingCode
  readonly text: string
  readonly remedy: string
}

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
