// Everything here must be accepted: our models and middlewares in each version of the AI SDK.
import { openai } from '@ai-sdk/openai'
import { limitedModel, meterModel } from '@sluice/ai'
import type { Limiter } from '@sluice/core'
import * as ai7 from 'ai'
import * as ai5 from 'ai5'
import { openai as openai5 } from 'ai5-openai'
import * as ai6 from 'ai6'
import { openai as openai6 } from 'ai6-openai'

declare const limiter: Limiter
const middleware = meterModel({ settle: () => {} })
const options = { subject: { tenant: 'acme' } }

export const metered = [
  ai5.wrapLanguageModel({ model: openai5('gpt-4o'), middleware }),
  ai6.wrapLanguageModel({ model: openai6('gpt-4o'), middleware }),
  ai7.wrapLanguageModel({ model: openai('gpt-4o'), middleware }),
]

export const answers = [
  ai5.generateText({ model: limitedModel(openai5('gpt-4o'), limiter, options), prompt: 'Why?' }),
  ai6.generateText({ model: limitedModel(openai6('gpt-4o'), limiter, options), prompt: 'Why?' }),
  ai7.generateText({ model: limitedModel(openai('gpt-4o'), limiter, options), prompt: 'Why?' }),
]
