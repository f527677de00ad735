const DAY_MS = 86_400_000

/** A sum that begins anew at midnight UTC, as daily budgets do. */
export class DayCount {
  #day = 0
  #sum = 0

  add(units: number, now: number): void {
    this.#sum = this.read(now) + units
    this.#day = Math.floor(now / DAY_MS)
  }

  read(now: number): number {
    return Math.floor(now / DAY_MS) === this.#day ? this.#sum : 0
  }
}
