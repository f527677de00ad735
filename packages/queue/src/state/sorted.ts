/** Members with scores, in the order of a sorted set of Redis: by score, then by member. */
export class Sorted {
  readonly #items: [score: number, member: string][] = []
  readonly #scores = new Map<string, number>()

  get size(): number {
    return this.#items.length
  }

  get first(): readonly [score: number, member: string] | undefined {
    return this.#items[0]
  }

  scoreOf(member: string): number | undefined {
    return this.#scores.get(member)
  }

  set(member: string, score: number): void {
    this.delete(member)
    this.#items.splice(this.#placeOf(score, member), 0, [score, member])
    this.#scores.set(member, score)
  }

  delete(member: string): void {
    const score = this.#scores.get(member)
    if (score === undefined) return
    this.#items.splice(this.#placeOf(score, member), 1)
    this.#scores.delete(member)
  }

  slice(from: number, to: number): readonly (readonly [score: number, member: string])[] {
    return this.#items.slice(from, to)
  }

  #placeOf(score: number, member: string): number {
    let [low, high] = [0, this.#items.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      const [otherScore, other] = this.#items[middle] as [number, string]
      if (otherScore < score || (otherScore === score && other < member)) low = middle + 1
      else high = middle
    }
    return low
  }
}
