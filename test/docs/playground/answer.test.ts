import { expect, it } from 'vitest'
import { answerOf } from '../../../apps/site/playground/engine/answer.ts'
import { EXAMPLES } from '../../../apps/site/playground/engine/examples.ts'
import { prepare, simulate } from '../../../apps/site/playground/engine/simulate.ts'

it.each(EXAMPLES)(
  'the answer to a denial says who denies and until when: $title',
  async (example) => {
    const { denials } = await simulate(await prepare(example.scenario))
    expect(denials.length).toBeGreaterThan(0)
    for (const { decision } of denials) {
      const { status, headers, body } = await answerOf(decision)
      expect(status).toBe(429)
      expect(JSON.parse(body)).toMatchObject({
        error: decision.reason,
        policy: decision.violated?.name,
      })
      const seconds = decision.retryAfterMs && Math.ceil(decision.retryAfterMs / 1000)
      const header = new Map(headers).get('retry-after')
      expect(header).toBe(seconds === null ? undefined : String(seconds))
    }
  },
)
