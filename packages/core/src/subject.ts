import { InputError } from './errors.ts'
import { hex } from './internal/hex.ts'
import { invalidOption } from './internal/validation.ts'

/** The dimensions that every subject may have. Policies may count by others, too. */
interface StandardDimensions<Plan extends string = string> {
  readonly tenant?: string | undefined
  readonly user?: string | undefined
  readonly route?: string | undefined
  readonly model?: string | undefined
  /** The model that was requested, if another one may answer: a door with `fallbackModels` sets it. */
  readonly askedModel?: string | undefined
  /** Picks the plan whose limits apply. */
  readonly plan?: Plan | undefined
  /** The time zone of the customer, such as `'Europe/Berlin'`, for a `calendar` that takes it from here. */
  readonly zone?: string | undefined
  /** The start of the customer's billing, such as `'2026-01-31'`, for a `calendar` that takes it from here. */
  readonly anchor?: string | undefined
  /** Equal for a call and its retries, such as an idempotency key. A dashboard counts such calls once. */
  readonly call?: string | undefined
}

/**
 * The values of a request's dimensions, by which policies count. Without type arguments, any dimension.
 *
 * @example
 * const subject: Subject = { tenant: 'acme', user: 'u_17', route: 'evaluate', plan: 'growth' }
 */
export type Subject<
  Dimension extends string = string,
  Plan extends string = string,
> = string extends Dimension
  ? StandardDimensions<Plan> | Readonly<Record<string, string | undefined>>
  : SubjectOf<Dimension, Plan>

/** A subject of known dimensions. A type of its own, so that TypeScript's errors show its name. */
type SubjectOf<Dimension extends string, Plan extends string> = StandardDimensions<Plan> & {
  readonly [Name in Dimension]?: string | undefined
}

/**
 * The dimensions by which a policy divides its budget: each combination of their values has its own.
 * `'global'` is one budget for everyone.
 */
export type Per = readonly string[] | 'global'

/** The dimensions of a `Per`. */
export type DimensionOf<Partition extends Per> = Partition extends readonly (infer Name extends
  string)[]
  ? Name
  : never

/** The longest encoded value in a key, in UTF-8 bytes. A longer one is replaced by its SHA-256. */
const MAX_VALUE_BYTES = 128

/** The longest value, in UTF-16 units, that surely fits: one unit is encoded as three bytes at most. */
const SHORT_LENGTH = Math.floor(MAX_VALUE_BYTES / 3)

/** Characters that would end a value, start a hash tag, look like a digest, or not print. */
// eslint-disable-next-line no-control-regex -- control characters are exactly what is escaped here
const RESERVED = /[\u0000-\u0020\u007f%:={}~]/g

const encoder = new TextEncoder()

/** Returns `per` if it is `'global'` or a list of distinct dimension names, else throws. */
export function assertPer(option: string, per: unknown): Per {
  if (per === 'global') return per
  if (!Array.isArray(per) || per.length === 0) {
    throw invalidOption(option, 'must be "global" or a list of dimensions, such as ["tenant"]', per)
  }
  const names: unknown[] = per
  for (const name of names) {
    if (typeof name === 'string' && /^[A-Za-z][A-Za-z0-9_-]{0,31}$/.test(name)) continue
    throw invalidOption(
      option,
      'must list names of 1 to 32 letters, digits, "_" or "-", starting with a letter',
      name,
    )
  }
  if (new Set(names).size !== names.length) {
    throw invalidOption(option, 'must not list a dimension twice', names.join())
  }
  return Object.freeze([...(names as string[])])
}

/** The digests that replace long values in keys, by dimension. */
export type Digests = ReadonlyMap<string, string>

/** Returns true if a value may need a digest: call `digestLongValues` before `encodePartition`. */
export function hasLongValue(subject: Subject, dimensions: readonly string[]): boolean {
  return dimensions.some((dimension) => isLong(valueOf(dimension, subject)))
}

const isLong = (value: unknown): boolean => typeof value === 'string' && value.length > SHORT_LENGTH

/** Hashes the values that are too long for a key. @throws InputError As `encodePartition` does. */
export async function digestLongValues(
  subject: Subject,
  dimensions: readonly string[],
): Promise<Digests> {
  const digests = new Map<string, string>()
  for (const dimension of dimensions) {
    if (!isLong(valueOf(dimension, subject))) continue
    const bytes = encoder.encode(encodeValue(dimension, subject))
    if (bytes.length > MAX_VALUE_BYTES) digests.set(dimension, await digest(bytes))
  }
  return digests
}

/**
 * Returns the partition of `subject` as keys contain it. Distinct partitions never share a key: each
 * value is escaped, a long one is replaced by its digest, and an empty or ill-formed one is refused.
 *
 * @throws InputError `missing_dimension` when the subject lacks a dimension of `per`.
 * @throws InputError `invalid_subject` when a value is not a non-empty, well-formed string.
 */
export function encodePartition(subject: Subject, per: Per, digests?: Digests): string {
  if (per === 'global') return per
  const encode = (dimension: string): string =>
    `${dimension}=${digests?.get(dimension) ?? encodeValue(dimension, subject)}`
  return per.map(encode).join(':')
}

/** Encodes a partition and hashes its long values. @throws InputError As `encodePartition` does. */
export async function encodePartitionAsync(subject: Subject, per: Per): Promise<string> {
  return per === 'global'
    ? per
    : encodePartition(subject, per, await digestLongValues(subject, per))
}

/** Returns true if `subject` has no value for a dimension of `per`. */
export function lacksDimension(subject: Subject, per: Per): boolean {
  return per !== 'global' && per.some((dimension) => valueOf(dimension, subject) === undefined)
}

/** Returns the subject's own value of a dimension, or `undefined` if it has none. */
export function valueOf(dimension: string, subject: Subject): unknown {
  const values = subject as Readonly<Record<string, unknown>>
  return (Object.hasOwn(values, dimension) ? values[dimension] : undefined) ?? undefined
}

function encodeValue(dimension: string, subject: Subject): string {
  const value = valueOf(dimension, subject)
  const input = `subject.${dimension}`
  if (value === undefined) {
    throw new InputError('missing_dimension', input, 'is missing, but a policy counts by it')
  }
  if (typeof value !== 'string' || value === '') {
    throw new InputError('invalid_subject', input, 'must be a non-empty string')
  }
  if (!value.isWellFormed()) {
    throw new InputError('invalid_subject', input, 'must have no lone surrogates')
  }
  if (value.search(RESERVED) < 0) return value
  return value.replace(
    RESERVED,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  )
}

async function digest(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  return `~${hex(await crypto.subtle.digest('SHA-256', bytes))}`
}
