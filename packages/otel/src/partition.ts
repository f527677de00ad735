import type { ExtensionContext, Subject } from '@sluice/core'
import { assertOneOf } from '@sluice/core/internal'
import { setBounded } from './bounded.ts'
import { SPAN } from './names.ts'

/**
 * The way in which spans name whose budget a request counts on: each value `'hashed'` (the first 16 digits
 * of its SHA-256), `'named'` as it is, `'none'`, or by a function of yours, such as a keyed hash.
 */
export type PartitionNames =
  'hashed' | 'named' | 'none' | ((value: string, dimension: string) => string | undefined)

/** The attributes of a partition. A promise only if a value has to be hashed first. */
export type PartitionOf = (subject: Subject) => PartitionAttributes | Promise<PartitionAttributes>

export type PartitionAttributes = Readonly<Record<string, string>>

/** Hashes that are kept, so that only the first request of a tenant waits for one. */
const MAX_HASHES = 10_000

/** Dimensions with an attribute of their own. */
const OTHERWISE_NAMED = new Set(['route', 'model', 'plan'])

/** Creates the function that names a subject's partition. @throws ConfigError When `names` is malformed. */
export function partitionNames(
  caller: string,
  names: PartitionNames,
  policies: ExtensionContext['policies'],
): PartitionOf {
  if (typeof names !== 'function') {
    assertOneOf(`${caller}.partition`, names, ['hashed', 'named', 'none'])
  }
  const dimensions = new Set(policies.flatMap(({ per }) => (per === 'global' ? [] : per)))
  for (const name of OTHERWISE_NAMED) dimensions.delete(name)
  if (names === 'none') return () => ({})

  const hashes = new Map<string, string>()
  const nameOf = (value: string, dimension: string): string | undefined =>
    names === 'named' ? value : names === 'hashed' ? hashes.get(value) : names(value, dimension)

  function attributes(values: readonly (readonly [string, string])[]): PartitionAttributes {
    const named: Record<string, string> = {}
    for (const [dimension, value] of values) {
      const name = nameOf(value, dimension)
      if (name !== undefined) named[`${SPAN.partition}.${dimension}`] = name
    }
    return named
  }

  async function learn(values: readonly string[]): Promise<void> {
    const digests = await Promise.all(values.map(shortHash))
    values.forEach((value, index) => setBounded(hashes, value, digests[index] ?? '', MAX_HASHES))
  }

  return (subject) => {
    const given = subject as Readonly<Record<string, unknown>>
    const values = [...dimensions].flatMap((name) => {
      const value = given[name]
      return typeof value === 'string' ? [[name, value] as const] : []
    })
    const unknown = names === 'hashed' ? values.filter(([, value]) => !hashes.has(value)) : []
    if (unknown.length === 0) return attributes(values)
    return learn(unknown.map(([, value]) => value)).then(() => attributes(values))
  }
}

const encoder = new TextEncoder()

async function shortHash(value: string): Promise<string> {
  const bytes = new Uint8Array(await crypto.subtle.digest('SHA-256', encoder.encode(value)))
  return Array.from(bytes.subarray(0, 8), (byte) => byte.toString(16).padStart(2, '0')).join('')
}
