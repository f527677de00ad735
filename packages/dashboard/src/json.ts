import { attempt } from '@sluice/core/internal/limiter'

/** Parses JSON. Returns `undefined` if it is malformed. */
export const parseJson = (text: string): unknown =>
  attempt(() => JSON.parse(text) as unknown, undefined)

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null
