/* The sending of one Redis command: what a store in Redis needs of REST or of a TCP client. */
import { StoreError } from '../../errors.ts'

/** A Redis command, or a part of one. */
export type Command = readonly (string | number)[]

/** An error reply of Redis itself. Its text may hold keys, so it is never passed on. */
export class RedisError extends Error {}

/** Creates the error of an answer that Redis cannot have given. */
export function badReply(status?: number): StoreError {
  return new StoreError('store_bad_reply', 'The store sent an invalid reply', status)
}

/**
 * Sends a command, once: if its reply is lost, it may have been charged.
 *
 * @throws RedisError When Redis answered with an error.
 * @throws StoreError When no answer of Redis came back.
 */
export type Transport = (command: Command, signal: AbortSignal) => Promise<unknown>
