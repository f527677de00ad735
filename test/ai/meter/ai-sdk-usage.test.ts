import { estimateTokens, usageOfAiSdk } from '@sluice/ai'
import { describe, expect, it } from 'vitest'
import { SAID } from '../recordings.ts'

describe('the usage that the AI SDK reports', () => {
  it('is read from version 5, whose final event also has the usage of its last step', () => {
    const usage = { inputTokens: 5, outputTokens: 6, totalTokens: 11, cachedInputTokens: 4 }
    const totalUsage = {
      inputTokens: 50,
      outputTokens: 60,
      totalTokens: 110,
      cachedInputTokens: 40,
    }
    const event = { usage, totalUsage, response: { modelId: 'm' }, text: SAID }
    expect(usageOfAiSdk(event)).toEqual({
      model: 'm',
      input: 50,
      cachedInput: 40,
      cacheWrite: 0,
      longCacheWrite: 0,
      output: 60,
      source: 'provider',
      complete: true,
    })
  })

  it('is read from version 5 with Anthropic, which counts its cache beside the input', () => {
    const usage = { inputTokens: 80, outputTokens: 310, totalTokens: 390, cachedInputTokens: 1_024 }
    const raw = {
      input_tokens: 80,
      cache_creation_input_tokens: 100,
      cache_read_input_tokens: 1_024,
      cache_creation: { ephemeral_1h_input_tokens: 60 },
      output_tokens: 310,
    }
    const providerMetadata = { anthropic: { usage: raw, cacheCreationInputTokens: 100 } }
    const expected = { cachedInput: 1_024, cacheWrite: 100, output: 310, source: 'provider' }
    const once = usageOfAiSdk({ usage, providerMetadata })
    expect(once).toMatchObject({ ...expected, input: 1_204, longCacheWrite: 60 })

    // The same of a cache that is smaller than the input, which the numbers alone cannot tell.
    const small = { inputTokens: 800, outputTokens: 5, totalTokens: 805, cachedInputTokens: 40 }
    const metadata = { anthropic: { cacheCreationInputTokens: null } }
    const steps = [
      { usage, providerMetadata },
      { usage: small, providerMetadata: metadata },
    ]
    const totalUsage = { inputTokens: 880, outputTokens: 315, cachedInputTokens: 1_064 }
    const run = usageOfAiSdk({ usage: small, totalUsage, steps, providerMetadata: metadata })
    expect(run).toMatchObject({ input: 2_044, cachedInput: 1_064, cacheWrite: 100, output: 315 })
    const last = usageOfAiSdk({ usage: small, providerMetadata: metadata })
    expect(last).toMatchObject({ input: 840, cachedInput: 40 })

    // By itself, a usage tells so only by having more in its cache than in its input.
    expect(usageOfAiSdk(usage)).toMatchObject({ input: 1_104, cachedInput: 1_024, cacheWrite: 0 })
    expect(usageOfAiSdk(small)).toMatchObject({ input: 800, cachedInput: 40 })
  })

  it('is read from version 5 with Bedrock, which counts its cache beside the input', () => {
    const usage = { inputTokens: 3_000, outputTokens: 10, cachedInputTokens: 2_000 }
    const providerMetadata = { bedrock: { usage: { cacheWriteInputTokens: 500 } } }
    expect(usageOfAiSdk({ usage, providerMetadata })).toMatchObject({
      input: 5_500,
      cachedInput: 2_000,
      cacheWrite: 500,
      source: 'provider',
    })
  })

  it('adds up the long-lived cache writes of all steps', () => {
    const raw = { input_tokens: 9, cache_creation: { ephemeral_1h_input_tokens: 500 } }
    const step = { providerMetadata: { anthropic: { usage: raw } } }
    const inputTokenDetails = { cacheReadTokens: 0, cacheWriteTokens: 1_500 }
    const totalUsage = { inputTokens: 1_527, inputTokenDetails, outputTokens: 9, raw }
    const run = usageOfAiSdk({ totalUsage, steps: [step, step, step] })
    expect(run).toMatchObject({ input: 1_527, cacheWrite: 1_500, longCacheWrite: 1_500 })
  })

  it('is not read as version 5 when it has details of its own', () => {
    const raw = { input_tokens: 80, cache_read_input_tokens: 1_024, output_tokens: 310 }
    const providerMetadata = { anthropic: { usage: raw, cacheCreationInputTokens: 0 } }
    const inputTokenDetails = { noCacheTokens: 80, cacheReadTokens: 1_024, cacheWriteTokens: 0 }
    const usage = { inputTokens: 1_104, inputTokenDetails, outputTokens: 310 }
    expect(usageOfAiSdk({ usage, providerMetadata })).toMatchObject({
      input: 1_104,
      cachedInput: 1_024,
      cacheWrite: 0,
    })
  })

  it('is estimated from the text when its numbers are invalid', () => {
    const usage = { inputTokens: Number.NaN, outputTokens: Number.NaN }
    expect(usageOfAiSdk({ usage, text: SAID }, { inputTokens: 7 })).toMatchObject({
      input: 7,
      output: estimateTokens(SAID),
      source: 'counted',
    })
  })

  it('includes the cache writes that only the raw usage of Anthropic has', () => {
    const raw = {
      input_tokens: 80,
      cache_creation_input_tokens: 100,
      cache_read_input_tokens: 1_024,
      cache_creation: { ephemeral_1h_input_tokens: 60 },
      output_tokens: 310,
    }
    const inputTokenDetails = { noCacheTokens: 80, cacheReadTokens: 1_024, cacheWriteTokens: 100 }
    const usage = { inputTokens: 1_204, inputTokenDetails, outputTokens: 310, raw }
    expect(usageOfAiSdk({ usage })).toMatchObject({
      input: 1_204,
      cachedInput: 1_024,
      cacheWrite: 100,
      longCacheWrite: 60,
      output: 310,
    })
  })

  it('is estimated from the text of all steps when no numbers are reported', () => {
    const usage = { inputTokens: undefined, outputTokens: undefined, totalTokens: undefined }
    const steps = [{ text: SAID }, { text: SAID, reasoningText: 'Hm.' }]
    expect(usageOfAiSdk({ usage, steps, text: SAID }, { inputTokens: 7 })).toMatchObject({
      input: 7,
      output: estimateTokens(`${SAID}${SAID}Hm.`),
      source: 'counted',
    })
  })

  it('is estimated from tool calls, too', () => {
    const usage = { inputTokens: undefined, outputTokens: undefined }
    const toolCalls = [{ toolName: 'search', input: { query: SAID } }, null]
    const { output } = usageOfAiSdk({ usage, steps: [{ text: '', toolCalls }] })
    expect(output).toBeGreaterThanOrEqual(estimateTokens(SAID))
  })

  it.each([undefined, null, 5, 'text', [], {}])('of %j is empty', (event) => {
    expect(usageOfAiSdk(event)).toMatchObject({ input: 0, output: 0, source: 'counted' })
  })
})
