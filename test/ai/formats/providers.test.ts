import { estimateTokens } from '@sluice/ai'
import { describe, expect, it } from 'vitest'
import * as recorded from '../recordings.ts'
import { readMetered } from '../support.ts'

const said = estimateTokens(recorded.SAID)
const chat = (usage: object): object => ({ model: 'm', choices: [], usage })

describe('usage that providers write in other ways', () => {
  it('includes reasoning that only the total contains', async () => {
    const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 115 }
    expect((await readMetered(chat(usage))).usage).toMatchObject({ input: 10, output: 105 })
  })

  it('is the last one if every chunk has a usage', async () => {
    const chunks = [1, 2, 3].map(
      (completion_tokens) =>
        `data: ${JSON.stringify({ ...chat({ prompt_tokens: 9, completion_tokens }) })}\n\n`,
    )
    const { usage } = await readMetered(`${chunks.join('')}data: [DONE]\n\n`)
    expect(usage).toMatchObject({ input: 9, output: 3, source: 'provider', complete: true })
    // Without a word of its end, it is still closed, and has told a usage.
    expect((await readMetered(chunks.join(''))).usage).toEqual(usage)
  })

  it('is found inside a choice', async () => {
    const choice = { delta: {}, usage: { prompt_tokens: 9, completion_tokens: 4 } }
    const body = `data: ${JSON.stringify({ choices: [choice] })}\n\ndata: [DONE]\n\n`
    expect((await readMetered(body)).usage).toMatchObject({ input: 9, output: 4 })
  })

  it('counts reasoning that is text beside the content', async () => {
    const body = ['reasoning_content', 'reasoning', 'content', 'refusal']
      .map((field) => `data: {"choices":[{"delta":{"${field}":"${recorded.SAID}"}}]}\n\n`)
      .join('')
    const { output, source } = (await readMetered(`${body}data: [DONE]\n\n`)).usage
    expect(source).toBe('counted')
    expect(output).toBe(estimateTokens(recorded.SAID.repeat(4)))
  })

  it.each([
    ['negative', { prompt_tokens: -5, completion_tokens: -1 }],
    ['no numbers', { prompt_tokens: '5', completion_tokens: {} }],
    ['null', { prompt_tokens: null, completion_tokens: null }],
    ['nested', { prompt_tokens: [[[5]]], completion_tokens: { total: 5 } }],
  ])('is ignored if it is not a number of tokens: %s', async (_, usage) => {
    const expected = (await readMetered(chat(usage))).usage
    expect([expected.input, expected.output]).toEqual([0, 0])
  })

  it('includes the compaction that Anthropic reports beside its total', async () => {
    const iterations = [
      {
        type: 'compaction',
        input_tokens: 180_000,
        output_tokens: 3_500,
        cache_read_input_tokens: 90,
      },
      { type: 'message', input_tokens: 23_000, output_tokens: 1_000 },
    ]
    const usage = { input_tokens: 23_000, output_tokens: 1_000, iterations }
    const expected = { input: 203_090, cachedInput: 90, output: 4_500, source: 'provider' }
    expect((await readMetered({ type: 'message', usage })).usage).toMatchObject(expected)
    const events = [
      { type: 'message_start', message: { usage: { input_tokens: 23_000, output_tokens: 1 } } },
      { type: 'message_delta', delta: {}, usage },
      { type: 'message_stop' },
    ]
    const body = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')
    expect((await readMetered(body)).usage).toMatchObject({ ...expected, complete: true })
  })

  it('of zeros before the answer does not complete an answer that breaks off', async () => {
    const usage = { input_tokens: 0, output_tokens: 0, total_tokens: 0 }
    const events = [
      { type: 'response.created', response: { usage } },
      { type: 'response.output_text.delta', delta: recorded.SAID },
    ]
    const body = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')
    expect((await readMetered(body)).usage).toMatchObject({ output: said, complete: false })
  })

  it('does not count the cache twice when the input includes it', async () => {
    const usage = {
      prompt_tokens: 2_000,
      completion_tokens: 10,
      total_tokens: 2_010,
      cache_read_input_tokens: 1_500,
      cache_creation_input_tokens: 100,
      prompt_tokens_details: { cached_tokens: 1_500 },
    }
    const expected = { input: 2_000, cachedInput: 1_500, cacheWrite: 100, output: 10 }
    expect((await readMetered(chat(usage))).usage).toMatchObject(expected)
  })

  it('adds the cache to the input for Bedrock, and when the input is the smaller number', async () => {
    const bedrock = {
      inputTokens: 30,
      outputTokens: 628,
      totalTokens: 2_158,
      cacheReadInputTokens: 1_000,
      cacheWriteInputTokens: 500,
    }
    const expected = { input: 1_530, cachedInput: 1_000, cacheWrite: 500, output: 628 }
    const answer = { output: { message: { content: [{ text: recorded.SAID }] } }, usage: bedrock }
    expect((await readMetered(answer)).usage).toMatchObject({ ...expected, source: 'provider' })
    const less = {
      prompt_tokens: 30,
      completion_tokens: 5,
      prompt_tokens_details: { cached_tokens: 40 },
    }
    expect((await readMetered(chat(less))).usage).toMatchObject({ input: 70, cachedInput: 40 })
  })

  it('counts input once whose cache is reported both as read and as written', async () => {
    const usage = {
      prompt_tokens: 2_168,
      completion_tokens: 5,
      prompt_tokens_details: { cached_tokens: 2_161, cache_write_tokens: 2_161 },
    }
    const told = { input: 2_168, cachedInput: 7, cacheWrite: 2_161, output: 5 }
    expect((await readMetered(chat(usage))).usage).toMatchObject(told)
  })

  it('counts input once that is reported both as read and as written, under any name', async () => {
    const names = [
      ['input_tokens', 'output_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens'],
      ['inputTokens', 'outputTokens', 'cacheReadInputTokens', 'cacheWriteInputTokens'],
    ] as const
    for (const [input, output, read, write] of names) {
      const usage = { [input]: 2_168, [output]: 5, [read]: 2_161, [write]: 2_161 }
      const told = { input: 2_168, cachedInput: 7, cacheWrite: 2_161, output: 5 }
      expect((await readMetered(chat(usage))).usage).toMatchObject(told)
    }
  })

  it('has what an advisor used, in all and by its own model', async () => {
    const advisor = {
      type: 'advisor_message',
      model: 'claude-opus-4-6',
      input_tokens: 823,
      cache_read_input_tokens: 100,
      output_tokens: 1_612,
    }
    const compaction = { type: 'compaction', input_tokens: 1_000, output_tokens: 50 }
    const iterations = [
      { type: 'message', input_tokens: 412, output_tokens: 89 },
      advisor,
      compaction,
      { type: 'message', input_tokens: 1_348, output_tokens: 442 },
    ]
    const usage = { input_tokens: 1_760, output_tokens: 531, iterations }
    const model = 'claude-sonnet-4-6'
    const expected = {
      model,
      input: 1_760 + 923 + 1_000,
      cachedInput: 100,
      output: 531 + 1_612 + 50,
      otherModels: [
        {
          model: 'claude-opus-4-6',
          input: 923,
          cachedInput: 100,
          cacheWrite: 0,
          longCacheWrite: 0,
          output: 1_612,
        },
      ],
      source: 'provider',
      complete: true,
    }
    expect((await readMetered({ type: 'message', model, usage })).usage).toMatchObject(expected)
    const start = { input_tokens: 412, output_tokens: 1 }
    const events = [
      { type: 'message_start', message: { model, usage: start } },
      { type: 'message_delta', delta: {}, usage },
      { type: 'message_stop' },
    ]
    const body = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')
    expect((await readMetered(body)).usage).toMatchObject(expected)
  })

  it('is still believed when an empty event of an unknown format follows it', async () => {
    const usage = { prompt_tokens: 40, completion_tokens: 7, total_tokens: 47 }
    const events = [
      { response: 'Blue' },
      { response: '', usage },
      { response: '', tool_calls: null },
    ]
    const lines = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')
    const found = (await readMetered(`${lines}data: [DONE]\n\n`)).usage
    expect(found).toMatchObject({ input: 40, output: 7, source: 'provider', complete: true })
  })

  it('is read beside an empty text, before the end of a stream of an unknown format', async () => {
    const usage = { prompt_tokens: 40, completion_tokens: 7, total_tokens: 47 }
    const events = [{ response: 'Blue' }, { response: '.' }, { response: '', usage }]
    const lines = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')
    const found = (await readMetered(`${lines}data: [DONE]\n\n`)).usage
    expect(found).toMatchObject({ input: 40, output: 7, source: 'provider', complete: true })
  })

  it('has the cost of the request if the provider reports it', async () => {
    const usage = { prompt_tokens: 40, completion_tokens: 7 }
    expect((await readMetered(chat({ ...usage, cost: 0.0161 }))).usage).toMatchObject({
      cost: 16_100,
    })
    const perplexity = { ...usage, cost: { total_cost: 0.006 } }
    expect((await readMetered(chat(perplexity))).usage).toMatchObject({ cost: 6_000 })
    expect((await readMetered(chat(usage))).usage).not.toHaveProperty('cost')
  })

  it('is counted from a message in place of a delta', async () => {
    const message = {
      content: 'Hello.',
      tool_calls: [{ id: 'call_1', function: { name: 'f', arguments: '{"a":1}' } }],
    }
    const answer = { choices: [{ message }] }
    for (const body of [answer, `data: ${JSON.stringify(answer)}\n\ndata: [DONE]\n\n`]) {
      const { usage } = await readMetered(body)
      expect(usage).toMatchObject({ output: estimateTokens('Hello.f{"a":1}'), complete: false })
    }
  })

  it('is counted from content in parts, as Mistral writes its reasoning', async () => {
    const thinking = [{ type: 'text', text: 'Why is it blue?' }]
    const content = [
      { type: 'thinking', thinking },
      { type: 'text', text: recorded.SAID },
    ]
    const body = `data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\ndata: [DONE]\n\n`
    const output = estimateTokens(`Why is it blue?${recorded.SAID}`)
    expect((await readMetered(body)).usage).toMatchObject({ output, source: 'counted' })
  })

  it('is bounded when a number is too large to count', async () => {
    const huge = '{"choices":[],"usage":{"prompt_tokens":1e300,"completion_tokens":1e300}}'
    const { input, output } = (await readMetered(huge)).usage
    expect([input, output]).toEqual([1e14, 1e14])
  })
})
