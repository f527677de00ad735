export { retryingFetch } from './retrying-fetch.ts'
export type { FetchLike, RetryEvent, RetryingFetchOptions } from './retrying-fetch.ts'
