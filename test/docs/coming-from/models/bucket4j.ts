/**
 * A model of Bucket4j's `tryConsumeAndReturnRemaining`. The reference tells what a bandwidth and its
 * refills are (https://bucket4j.com/8.7.0/toc.html), the source how it rounds
 * (https://github.com/bucket4j/bucket4j/blob/master/bucket4j-core/src/main/java/io/github/bucket4j/BucketState64BitsInteger.java).
 *
 * All of it is whole numbers: tokens are whole, and of a greedy refill the part of a token that time has
 * already earned is kept beside them, in token-nanoseconds.
 */

export interface Bandwidth {
  readonly capacity: bigint
  readonly tokens: bigint
  readonly periodMs: number
  /** `greedy` adds tokens one by one, `intervally` all of them at the end of each period. */
  readonly refill: 'greedy' | 'intervally'
  /** Of `refillIntervallyAligned`: when the first period ends, in epoch ms. @default a period after the start */
  readonly firstRefillMs?: number
}

/** The fields of `ConsumptionProbe`. */
export interface Probe {
  readonly consumed: boolean
  readonly remainingTokens: bigint
  /** `undefined` stands for Long.MAX_VALUE: never. */
  readonly nanosToWaitForRefill: bigint | undefined
}

const NANOS = 1_000_000n

class BandwidthState {
  readonly #bandwidth: Bandwidth
  readonly #period: bigint
  size: bigint
  #last: bigint
  /** The earned part of the next token by greedy refilling, times the period in nanoseconds. */
  #earned = 0n

  constructor(bandwidth: Bandwidth, now: bigint) {
    this.#bandwidth = bandwidth
    this.#period = BigInt(bandwidth.periodMs) * NANOS
    this.size = bandwidth.capacity
    const { firstRefillMs } = bandwidth
    this.#last = firstRefillMs === undefined ? now : BigInt(firstRefillMs) * NANOS - this.#period
  }

  refill(now: bigint): void {
    const { refill, tokens, capacity } = this.#bandwidth
    const elapsed = now - this.#last
    if (elapsed <= 0n) return
    const counted = refill === 'greedy' ? elapsed : elapsed - (elapsed % this.#period)
    this.#last += counted
    const earned = this.#earned + counted * tokens
    this.size += earned / this.#period
    this.#earned = earned % this.#period
    if (this.size >= capacity) [this.size, this.#earned] = [capacity, 0n]
  }

  /** Nanoseconds until so many tokens are there, if nobody takes any. */
  wait(wanted: bigint, now: bigint): bigint | undefined {
    const { refill, tokens, capacity } = this.#bandwidth
    if (wanted > capacity) return undefined
    const missing = wanted - this.size
    if (missing <= 0n) return 0n
    if (refill === 'greedy') return (missing * this.#period - this.#earned) / tokens
    const periods = (missing + tokens - 1n) / tokens
    return this.#last + periods * this.#period - now
  }
}

export class Bucket {
  readonly #states: readonly BandwidthState[]

  constructor(bandwidths: readonly Bandwidth[], nowMs: number) {
    this.#states = bandwidths.map(
      (bandwidth) => new BandwidthState(bandwidth, BigInt(nowMs) * NANOS),
    )
  }

  tryConsumeAndReturnRemaining(tokens: bigint, nowMs: number): Probe {
    const { consumed, nanosToWaitForRefill } = this.estimateAbilityToConsume(tokens, nowMs)
    if (consumed) for (const state of this.#states) state.size -= tokens
    return { consumed, remainingTokens: this.#least(), nanosToWaitForRefill }
  }

  /** Probes without taking anything. Its `canBeConsumed` is `consumed` here. */
  estimateAbilityToConsume(tokens: bigint, nowMs: number): Probe {
    const now = BigInt(nowMs) * NANOS
    for (const state of this.#states) state.refill(now)
    const waits = this.#states.map((state) => state.wait(tokens, now))
    return {
      consumed: waits.every((wait) => wait === 0n),
      remainingTokens: this.#least(),
      nanosToWaitForRefill: waits.reduce(longer, 0n),
    }
  }

  #least(): bigint {
    return this.#states.map(({ size }) => size).reduce((a, b) => (a < b ? a : b))
  }
}

function longer(a: bigint | undefined, b: bigint | undefined): bigint | undefined {
  if (a === undefined || b === undefined) return undefined
  return a > b ? a : b
}
