export type Body = Record<string, unknown>

/** An answer of twenty tokens of input and ten of output, in the format of an address. */
function answerTo(url: string): unknown {
  if (url.endsWith('/messages')) {
    return {
      type: 'message',
      id: 'm',
      model: 'claude-opus-4-5',
      role: 'assistant',
      content: [{ type: 'text', text: 'Because.' }],
      stop_reason: 'end_turn',
      usage: { input_tokens: 20, output_tokens: 10 },
    }
  }
  return {
    id: 'c',
    model: 'gpt-4o',
    choices: [
      { index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Because.' } },
    ],
    usage: { prompt_tokens: 20, completion_tokens: 10, total_tokens: 30 },
  }
}

/** A `fetch` that answers as OpenAI's chat completions or Anthropic's messages, and keeps what it is sent. */
export function recorder() {
  const bodies: Body[] = []
  let listener: (() => unknown) | undefined
  const fetch = async (input: unknown, init?: RequestInit): Promise<Response> => {
    bodies.push(JSON.parse(init?.body as string) as Body)
    await listener?.()
    return Response.json(answerTo(String(input)))
  }
  const whenSent = (listen: () => unknown): void => void (listener = listen)
  return { bodies, fetch: fetch as typeof globalThis.fetch, whenSent }
}
