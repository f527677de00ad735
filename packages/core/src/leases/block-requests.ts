/* Requests for blocks, which go to the store together with a decision. */
import type { Entry, Fit, SettlementMark } from '../stores/store.ts'
import type { BlockOnItsWay, KeyLeases } from './key-leases.ts'
import type { LeaseTerms } from './lease.ts'
import { RETURN_WITHIN_MS } from './block.ts'
import { blockFit, type Wanted } from './block-fit.ts'
import { keepingMark } from '../reservations/mark.ts'

/** The request for a block of an entry whose lease is missing, used up or running low. */
export interface BlockRequest {
  readonly entry: Entry
  readonly terms: LeaseTerms
  readonly keyLeases: KeyLeases
  readonly onItsWay: BlockOnItsWay
  readonly wanted: Wanted
  /** True if no decision uses a part of the block at once. */
  readonly isPrefetch: boolean
}

/** Blocks to request together with a decision of the store. */
export interface PendingBlocks {
  /** Identifies the charges. */
  readonly id: string
  readonly requests: readonly BlockRequest[]
  readonly mark?: SettlementMark
  readonly fit?: Fit
  /** The time for which they may be held open, in milliseconds. */
  readonly heldMs: number
}

/** Puts requests for blocks together. Units that can go back need a mark in the store. */
export function blocksFor(requests: readonly BlockRequest[], id: string): PendingBlocks {
  const callMs = Math.max(0, ...requests.map(({ keyLeases }) => keyLeases.heldMs))
  const heldMs = callMs + Math.max(0, ...requests.map(({ terms }) => terms.durationMs))
  const canReturn = ({ wanted: { ahead, waiting }, isPrefetch }: BlockRequest): boolean =>
    isPrefetch || ahead + waiting > 1
  if (callMs === 0 && !requests.some(canReturn)) return { id, requests, heldMs }
  const wanted = Object.fromEntries(requests.map(({ entry, wanted: own }) => [entry.index, own]))
  const mark = keepingMark(id, heldMs + RETURN_WITHIN_MS)
  return { id, requests, heldMs, mark, fit: blockFit(wanted) }
}
