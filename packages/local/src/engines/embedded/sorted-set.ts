export type Scored = readonly [member: string, score: number]

/** A set of members, ordered by score and then by bytes. */
export class SortedSet {
  readonly #scores: Map<string, number>
  readonly #order: Scored[]

  constructor(order: readonly Scored[] = []) {
    this.#scores = new Map(order)
    this.#order = [...order]
  }

  get size(): number {
    return this.#order.length
  }

  copy(): SortedSet {
    return new SortedSet(this.#order)
  }

  score(member: string): number | undefined {
    return this.#scores.get(member)
  }

  set(member: string, score: number): void {
    this.delete(member)
    this.#scores.set(member, score)
    this.#order.splice(this.rank(member, score), 0, [member, score])
  }

  delete(member: string): boolean {
    const score = this.#scores.get(member)
    if (score === undefined) return false
    this.#scores.delete(member)
    this.#order.splice(this.rank(member, score), 1)
    return true
  }

  /** Removes the members from position `start` to before `end`. Returns their number. */
  deleteRange(start: number, end: number): number {
    const removed = this.#order.splice(start, Math.max(0, end - start))
    for (const [member] of removed) this.#scores.delete(member)
    return removed.length
  }

  slice(start: number, end: number): Scored[] {
    return this.#order.slice(start, end)
  }

  /** Returns the position of a member with this score, or the position that it would take. */
  rank(member: string, score: number): number {
    return this.#search(
      ([other, otherScore]) => otherScore < score || (otherScore === score && other < member),
    )
  }

  /** Returns the position of the first member of this score or, with `after`, behind the last. */
  bound(score: number, after: boolean): number {
    return this.#search(([, other]) => other < score || (after && other === score))
  }

  /** Returns the position of the first member from this one on or, with `after`, behind it, if all scores are the same. */
  memberBound(member: string, after: boolean): number {
    return this.#search(([other]) => other < member || (after && other === member))
  }

  #search(isBefore: (entry: Scored) => boolean): number {
    let low = 0
    let high = this.#order.length
    while (low < high) {
      const middle = (low + high) >>> 1
      const entry = this.#order[middle]
      if (entry && isBefore(entry)) low = middle + 1
      else high = middle
    }
    return low
  }
}
