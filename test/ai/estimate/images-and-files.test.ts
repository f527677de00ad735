import { estimateRequest, estimateTokens } from '@sluice/ai'
import { describe, expect, it } from 'vitest'
import { LANGUAGES } from '../samples/languages.ts'

const english = LANGUAGES['English'] ?? ''
const inputOf = (body: unknown): number => estimateRequest(body).input
const ofImage = (model: string, body: object): number =>
  inputOf({ ...body, model }) - inputOf({ messages: [{ role: 'user', content: [] }] })

describe('input that is not text', () => {
  const data = 'A'.repeat(400_000)
  const chat = (detail?: string): object => ({
    messages: [
      {
        role: 'user',
        content: [
          { type: 'image_url', image_url: { url: `data:image/png;base64,${data}`, detail } },
        ],
      },
    ],
  })

  it.each([
    ['gpt-4o', undefined, 1_445],
    ['gpt-4o-2024-08-06', 'high', 1_445],
    ['gpt-4o', 'low', 85],
    ['openai/gpt-4.1', 'auto', 1_445],
    ['gpt-4o-mini', 'auto', 48_169],
    ['gpt-4o-mini', 'low', 2_833],
    ['gpt-5.4', undefined, 36_000],
    ['gpt-5.4', 'high', 15_115],
    ['gpt-5-mini', 'low', 630],
    ['a-gateways-own-name', undefined, 48_169],
  ])('counts an image of %s with detail %s as at most %i tokens', (model, detail, tokens) => {
    const more = ofImage(model, chat(detail)) - tokens
    expect(more).toBeGreaterThanOrEqual(0)
    expect(more).toBeLessThanOrEqual(4)
  })

  it('counts images of the responses format, also in the result of a tool', () => {
    const image = { type: 'input_image', image_url: `data:image/png;base64,${data}` }
    for (const input of [
      [{ role: 'user', content: [image] }],
      [{ type: 'function_call_output', call_id: 'call_1', output: [image] }],
    ]) {
      expect(inputOf({ model: 'gpt-4o', input })).toBeGreaterThanOrEqual(1_445)
      expect(inputOf({ model: 'gpt-4o', input })).toBeLessThan(1_470)
    }
  })

  it.each<[string, object]>([
    ['of a message', { role: 'user', content: [{ type: 'input_image', file_id: 'file-abc' }] }],
    [
      'of a tool',
      { type: 'function_call_output', output: [{ type: 'input_image', file_id: 'file-abc' }] },
    ],
    [
      'of a screen',
      {
        type: 'computer_call_output',
        output: { type: 'computer_screenshot', file_id: 'file-abc' },
      },
    ],
  ])('counts an image given by the id of its file: %s', (_, item) => {
    const input = inputOf({ model: 'gpt-4o', input: [item] })
    expect(input).toBeGreaterThanOrEqual(1_445)
    expect(input).toBeLessThan(1_470)
  })

  it('counts an image given by the id of its file at the requested detail', () => {
    const content = [{ type: 'input_image', file_id: 'file-abc', detail: 'low' }]
    expect(inputOf({ model: 'gpt-4o', input: [{ role: 'user', content }] })).toBeLessThan(110)
  })

  it('counts an image for Claude as at most 4784 tokens, also in the result of a tool', () => {
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data } }
    const byId = { type: 'image', source: { type: 'file', file_id: 'file_abc' } }
    for (const content of [
      [image],
      [byId],
      [{ type: 'tool_result', tool_use_id: 't', content: [image] }],
    ]) {
      const input = inputOf({ model: 'claude-opus-5', messages: [{ role: 'user', content }] })
      expect(input).toBeGreaterThanOrEqual(4_784)
      expect(input).toBeLessThan(4_810)
    }
  })

  it('costs as much per image as you configure', () => {
    const body = { ...chat(), model: 'gpt-4o-mini' }
    const { input } = estimateRequest(body, { imageTokens: 25_501 })
    expect(input).toBeGreaterThanOrEqual(25_501)
    expect(input).toBeLessThan(25_520)
  })

  it.each<[string, object]>([
    [
      'a file',
      { messages: [{ role: 'user', content: [{ type: 'file', file: { file_data: data } }] }] },
    ],
    [
      'a file by its id',
      { input: [{ role: 'user', content: [{ type: 'input_file', file_id: 'f' }] }] },
    ],
    [
      'a sound',
      { messages: [{ role: 'user', content: [{ type: 'input_audio', input_audio: { data } }] }] },
    ],
    [
      'a PDF',
      {
        messages: [
          { role: 'user', content: [{ type: 'document', source: { type: 'base64', data } }] },
        ],
      },
    ],
    ['an earlier response', { input: 'Go on.', previous_response_id: 'resp_1' }],
    ['a conversation', { input: 'Go on.', conversation: { id: 'conv_1' } }],
    ['a stored prompt', { prompt: { id: 'pmpt_1' } }],
    ['an MCP server, OpenAI', { tools: [{ type: 'mcp', server_label: 'a', server_url: 'b' }] }],
    ['an MCP server, Anthropic', { mcp_servers: [{ type: 'url', url: 'b', name: 'a' }] }],
    ['an item by reference', { input: [{ type: 'item_reference', id: 'msg_1' }] }],
    ['an item by its id alone', { input: [{ id: 'msg_1' }] }],
    [
      'a sound by its address',
      { messages: [{ role: 'user', content: [{ type: 'audio_url', audio_url: { url: 'u' } }] }] },
    ],
    [
      'a document by its address',
      { messages: [{ role: 'user', content: [{ type: 'document_url', document_url: 'u' }] }] },
    ],
  ])('counts %s, whose size is unknown, as 20,000 tokens or as you configure', (_, body) => {
    expect(inputOf(body)).toBeGreaterThanOrEqual(20_000)
    expect(inputOf(body)).toBeLessThan(20_050)
    expect(estimateRequest(body, { unseenTokens: 500 }).input).toBeLessThan(550)
  })

  it('counts each MCP server as input of unknown size', () => {
    const server = { type: 'mcp', server_label: 'a' }
    for (const servers of [[], [server], [server, server, server]]) {
      for (const body of [{ tools: servers }, { mcp_servers: servers }]) {
        expect(Math.floor(inputOf(body) / 20_000)).toBe(servers.length)
      }
    }
  })

  it('does not take a message with an id for a file', () => {
    expect(inputOf({ messages: [{ id: 'msg_1', role: 'user', content: 'Hello' }] })).toBeLessThan(
      20,
    )
  })

  it('does not hide the text beside it', () => {
    const part = { type: 'image_url', image_url: { url: 'x' }, text: english }
    const body = { model: 'gpt-4o', messages: [{ role: 'user', content: [part] }] }
    expect(inputOf(body)).toBeGreaterThan(1_445 + estimateTokens(english))
  })

  it('includes the tokens that Anthropic adds for tools', () => {
    const body = { model: 'claude-opus-5', max_tokens: 9, messages: [] }
    const tools = [{ name: 'a', input_schema: { type: 'object' } }]
    expect(inputOf({ ...body, tools }) - inputOf(body)).toBeGreaterThan(804)
    expect(inputOf({ ...body, tools: [] }) - inputOf(body)).toBeLessThan(10)
  })
})
