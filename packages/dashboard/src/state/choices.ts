import { choiceName, choiceTexts, type ChoiceFacts } from '@sluice/core/internal/text'
import type { ChoiceView } from '../view.ts'

/** The most pairs of choices of one tenant. */
const MAX_PAIRS = 20

/** Counts the calls of one tenant by the choice asked for and the one used. */
export class Choices {
  readonly #pairs = new Map<string, ChoiceView>()

  add(tried: readonly ChoiceFacts[], askedModel: string | undefined): void {
    const [first] = tried
    if (!first) return
    const winner = tried.find(({ allowed }) => allowed)
    const asked = askedModel ?? choiceName(first.subject)
    const used = winner && { used: choiceName(winner.subject) }
    const key = JSON.stringify([asked, used])
    const { calls = 0 } = this.#pairs.get(key) ?? {}
    if (calls === 0 && this.#pairs.size >= MAX_PAIRS) return
    const passedOver = choiceTexts(tried, true)
    this.#pairs.set(key, { asked, ...used, calls: calls + 1, passedOver })
  }

  /** Returns the pairs, those with the most calls first. */
  get view(): readonly ChoiceView[] {
    return [...this.#pairs.values()].toSorted((a, b) => b.calls - a.calls)
  }
}
