/* The payments of a world's customers, and the grants that its apps were told of. */
import type { ServerJudge } from './judges/server-judge.ts'
import type { Random } from './random.ts'

/** A payment, of which a webhook tells an app: once or more. */
export interface Payment {
  readonly id: string
  readonly subject: { readonly tenant: string; readonly route: string }
  readonly units: number
  readonly at: number
  /** True if it is too old to be granted. */
  readonly isOld: boolean
}

/** The answer to an app about a grant. */
interface Told {
  readonly applied: boolean
  readonly units: number
}

const DAY_MS = 86_400_000

export class Payments {
  readonly #judge: ServerJudge
  readonly #accuse: (what: string) => void
  readonly #all: Payment[] = []
  /** The number of losses of data when an app was told that a grant counts. */
  readonly #told = new Map<string, number>()
  readonly #applied = new Map<string, number>()

  constructor(judge: ServerJudge, accuse: (what: string) => void) {
    this.#judge = judge
    this.#accuse = accuse
  }

  /** Draws a payment that was made just now; or one of which a webhook came before. */
  draw(random: Random, subject: Payment['subject'], least: number, now: number): Payment {
    const { tenant, route } = subject
    if (this.#all.length > 0 && random.chance(0.25)) return random.pick(this.#all)
    const isOld = random.chance(0.02)
    const payment = {
      id: `payment-${this.#all.length + 1}`,
      subject: { tenant, route },
      units: Math.max(1, Math.round(least * random.pick([0.1, 0.3, 1, 1, 3]))),
      at: now - (isOld ? 100 * DAY_MS : random.gap(60_000)),
      isOld,
    }
    this.#all.push(payment)
    return payment
  }

  /** Returns a payment that an app was told of, if there is one. */
  pick(random: Random): Payment | undefined {
    return this.#all.length > 0 ? random.pick(this.#all) : undefined
  }

  /** Judges what an app was told of a grant that it has asked for. */
  told({ id, units }: Payment, asked: number, told: Told, before: number, losses: number): void {
    if (told.units !== asked) this.#accuse(`grant ${id} of ${asked} was told ${told.units} units`)
    if (before !== losses) return
    if (told.applied) {
      if (this.#applied.get(id) === losses) this.#accuse(`grant ${id} was told to count twice`)
      this.#applied.set(id, losses)
    }
    if (asked === units) this.#told.set(id, losses)
  }

  /** Judges a refusal. */
  refused(
    { id, isOld }: Payment,
    asked: number,
    code: string,
    before: number,
    losses: number,
  ): void {
    if (code === 'grant_too_old' && isOld) return
    const amount = this.#judge.balanceWith(id)?.amountOf(id)
    if (code === 'grant_differs' && (amount !== asked || before !== losses)) return
    this.#accuse(`grant ${id} was refused: ${code}`)
  }

  /** Judges the end: each grant that counts, as an app was told, is in a balance. */
  end(losses: number): void {
    for (const { id, units } of this.#all) {
      if (this.#told.get(id) !== losses) continue
      const amount = this.#judge.balanceWith(id)?.amountOf(id)
      if (amount !== units)
        this.#accuse(`grant ${id} of ${units} was told to count; it is ${amount}`)
    }
  }
}
