/* The requests to the handler in a Worker, and its answers. */

/** A message for an object. */
export interface ObjectCall {
  /** The name of the object. */
  readonly name: string
  /** Where it is placed, if this call creates it. */
  readonly locationHint?: DurableObjectLocationHint
  readonly message: string
}

/** The platform's error of a call to an object. */
export interface ObjectFault {
  readonly message: string
  readonly overloaded?: boolean
  readonly durableObjectReset?: boolean
}

/** The fewest characters of a token: whoever has it may change all counts and settings. */
export const MIN_TOKEN_LENGTH = 32

/** The status with which the handler passes on the fault of an object. */
export const FAULT_STATUS = 502
