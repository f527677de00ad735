/* Streamed answers that are paid from a balance. */
import { limitedModel, priceOf, type AiSdkModel } from '@sluice/ai'
import { describe, expect, it } from 'vitest'
import { lawfulBalance } from '../../support/balance-law.ts'
import { ACME } from '../../support/limiters.ts'
import { costOf, creditsOf, GRANTED } from '../credits.ts'
import { callBy, DOORS, PRICES, QUESTION } from '../fallback/ladder.ts'

const CUT = new TypeError('terminated')

const STREAMED = Object.keys(DOORS).filter((door) => door !== 'limitedModel')

describe.each(STREAMED)('%s with a stream that is cut', (door) => {
  it.each(['keep', 'counted'] as const)('is charged once (%s)', async (onIncomplete) => {
    const { limiter } = await creditsOf(GRANTED)
    let held = 0
    let used = 0
    await callBy(door, {
      limiter,
      body: { ...QUESTION, stream: true },
      options: {
        onIncomplete,
        onUsage: (usage) => {
          used = priceOf(usage, 'large', PRICES)
        },
      },
      answer: async () => {
        held = (await lawfulBalance(limiter)).held
        return cutStream()
      },
    }).catch(() => undefined)
    const spent = onIncomplete === 'keep' ? held : used
    expect(spent).toBeGreaterThan(0)
    expect(used).toBeLessThan(held)
    expect(await lawfulBalance(limiter)).toMatchObject({ available: GRANTED - spent, held: 0 })
  })
})

/** The beginning of a streamed answer, whose connection breaks. */
function cutStream(): Response {
  const chunk = { choices: [{ index: 0, delta: { content: 'Because of the light.' } }] }
  let isFirst = true
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (!isFirst) return controller.error(CUT)
      isFirst = false
      controller.enqueue(new TextEncoder().encode(`data: ${JSON.stringify(chunk)}\n\n`))
    },
  })
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
}

describe('limitedModel with a stream', () => {
  const delta = { type: 'text-delta', id: '1', delta: 'Because of the light.' }
  const finish = {
    type: 'finish',
    finishReason: { unified: 'stop' },
    usage: { inputTokens: { total: 10 }, outputTokens: { total: 50 } },
  }

  it.each<[string, readonly object[], Error | undefined, number | 'all']>([
    ['is charged for what it used', [delta, finish], undefined, costOf(50)],
    ['that breaks off is charged once, at all that it may have used', [delta], CUT, 'all'],
    ['that breaks off after its usage is charged for that', [delta, finish], CUT, costOf(50)],
  ])('%s', async (_, parts, error, cost) => {
    const { limiter } = await creditsOf(GRANTED)
    let held = 0
    const background: Promise<unknown>[] = []
    const model = limitedModel(streamingModel(parts, error), limiter, {
      subject: ACME,
      prices: PRICES,
      maxOutput: 1_000,
      onError: () => undefined,
      waitUntil: (promise) => void background.push(promise),
    })
    const prompt = [{ role: 'user', content: [{ type: 'text', text: 'Why?' }] }]
    const { stream } = (await model.doStream({ prompt })) as { stream: ReadableStream }
    ;({ held } = await lawfulBalance(limiter))
    await stream.pipeTo(new WritableStream()).catch(() => undefined)
    while (background.length > 0) await background.shift()
    expect(held).toBeGreaterThan(10_000)
    expect(await lawfulBalance(limiter)).toMatchObject({
      available: GRANTED - (cost === 'all' ? held : cost),
      held: 0,
    })
  })
})

/** A model of the AI SDK that streams these parts, and then breaks off, if there is an error. */
function streamingModel(parts: readonly object[], error: Error | undefined): AiSdkModel {
  const doStream = async () => {
    let at = 0
    const stream = new ReadableStream({
      pull(controller) {
        const part = parts[at]
        at += 1
        if (part) controller.enqueue(part)
        else if (error) controller.error(error)
        else controller.close()
      },
    })
    return { stream }
  }
  return {
    specificationVersion: 'v4',
    provider: 'mock',
    modelId: 'large',
    doGenerate: doStream,
    doStream,
  }
}
