import { InputError, type Subject } from '@sluice/core'

/** The longest name of a flow. A longer one is replaced by its digest. */
const MAX_LENGTH = 200

/**
 * Returns the flow of a subject: the values of the dimensions by which turns are divided.
 *
 * @throws InputError `missing_dimension` when the subject lacks one.
 */
export async function flowOf(subject: Subject, between: readonly string[]): Promise<string> {
  const values = subject as Readonly<Record<string, unknown>>
  const parts = between.map((dimension) => {
    const value = values[dimension]
    if (typeof value === 'string' && value !== '') return `${dimension}=${encode(value)}`
    const rule = 'is missing, but the queue takes turns by it'
    throw new InputError('missing_dimension', `subject.${dimension}`, rule)
  })
  const name = parts.join('&')
  if (name.length <= MAX_LENGTH) return name
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(name))
  return `~${Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('')}`
}

function encode(value: string): string {
  try {
    return encodeURIComponent(value)
  } catch {
    throw new InputError('invalid_subject', 'subject', 'must be well-formed Unicode')
  }
}

/** The virtual time of a job of size 1 with a weight of 1. Weights are from 0.001 to 1,000. */
const UNIT_LENGTH = 1_000

/** Returns the virtual time that a job takes: a whole number above 0. */
export const lengthOf = (size: number, weight: number): number =>
  Math.max(1, Math.ceil((size * UNIT_LENGTH) / weight))
