import Anthropic from '@anthropic-ai/sdk'
import { budget, limitedFetch, limitedModel, modelHandler, usd, type AiSdkModel } from '@sluice/ai'
import { withBudget } from '@sluice/ai/with-budget'
import type { Limiter } from '@sluice/core'
import { calendar } from '@sluice/core/calendars'
import { memory } from '@sluice/core/memory'
import OpenAI from 'openai'
import { describe, expect, it, vi } from 'vitest'
import { limiterWith, post, PRICES, QUESTION, subject } from '../doors.ts'
import { VERSIONS } from '../sdk-versions.ts'

const BUDGET = usd(0.5)
const SENTENCE =
  /This call may cost \$[\d.]+; (\$[\d.]+) of \1 of policy \\*"[.\w]+\\*" is left\. It never fits\./
const messages = [{ role: 'user' as const, content: 'Why? '.repeat(2_000) }]
const max_tokens = 200_000
const options = { subject, prices: PRICES, maxOutput: 1_000_000, minOutput: max_tokens }
const apiKey = 'none'
const never = () => Promise.reject(new Error('Nothing is sent'))

/** The text that the user of each door reads. */
const DOORS: Readonly<Record<string, (limiter: Limiter) => Promise<string>>> = {
  'limitedFetch, openai': (limiter) => {
    const fetch = limitedFetch(limiter, { ...options, fetch: never })
    const client = new OpenAI({ apiKey, fetch })
    return errorOf(client.chat.completions.create({ model: 'gpt-4o', messages, max_tokens }))
  },
  'limitedFetch, anthropic': (limiter) => {
    const fetch = limitedFetch(limiter, { ...options, fetch: never })
    const client = new Anthropic({ apiKey, fetch })
    const body = { model: 'claude-opus-4-5', messages, max_tokens, stream: true as const }
    return errorOf(client.messages.create(body))
  },
  'withBudget, openai': () => {
    vi.spyOn(console, 'info').mockImplementation(() => {})
    const client = new OpenAI({ apiKey, fetch: never })
    const openai = withBudget(client, { store: memory(), tenant: usd(0.001), prices: PRICES })(
      'acme',
    )
    return errorOf(openai.chat.completions.create({ model: 'gpt-4o', messages, max_tokens }))
  },
  limitedModel: (limiter) => {
    const model = Object.values(VERSIONS)[0]?.model()
    const limited = limitedModel(model as AiSdkModel, limiter, options)
    const prompt = [{ role: 'user', content: [{ type: 'text', text: 'Why?' }] }]
    return errorOf(limited.doGenerate({ prompt, maxOutputTokens: max_tokens }))
  },
  'modelHandler, openai': (limiter) => answerOf(limiter, 'openai-chat'),
  'modelHandler, anthropic': (limiter) => answerOf(limiter, 'anthropic-messages'),
}

async function errorOf(call: PromiseLike<unknown>): Promise<string> {
  return call.then(
    () => 'allowed',
    (error: unknown) => (error as Error).message,
  )
}

async function answerOf(
  limiter: Limiter,
  api: 'openai-chat' | 'anthropic-messages',
): Promise<string> {
  const handle = modelHandler(limiter, { ...options, api }, never)
  const model = api === 'anthropic-messages' ? 'claude-opus-4-5' : 'gpt-4o'
  const response = await handle(post({ ...QUESTION, model, max_tokens }))
  const { error } = (await response.json()) as { error: { message: string } }
  return error.message
}

describe.each(Object.entries(DOORS))('a denial of %s', (_, messageOf) => {
  it('says what the call may cost, and what is left', async () => {
    expect(await messageOf(limiterWith(BUDGET))).toMatch(SENTENCE)
  })
})

/** The doors whose limiter has policies of the caller. */
const OWN_POLICIES = Object.entries(DOORS).filter(([name]) => !name.startsWith('withBudget'))

describe.each(OWN_POLICIES)(
  "a denial of %s by a budget of the customer's month",
  (_, messageOf) => {
    it('says its end as local time with its zone', async () => {
      const resets = calendar({ zone: 'Europe/Berlin', on: { day: 20 } })
      const monthly = budget({ name: 'team', monthly: usd(3), per: ['tenant'], resets })
      const limiter = limiterWith(usd(100), monthly)
      await limiter.check({ tenant: 'acme' }, { cost: { usd: usd(2), token: 0, call: 0 } })
      expect(await messageOf(limiter)).toMatch(
        /\$1\.00 of \$3\.00 of policy \\*"team\.monthly\\*" is left until 2026-01-20 00:00 \(Europe\/Berlin\)\./,
      )
    })
  },
)
