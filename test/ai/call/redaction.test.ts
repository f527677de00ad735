import Anthropic from '@anthropic-ai/sdk'
import { modelHandler, type FetchLike, type Upstream } from '@sluice/ai'
import OpenAI from 'openai'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { handlerOf, limiterOf, post, PRICES, QUESTION, subject, used } from '../doors.ts'
import * as recorded from '../recordings.ts'

const KEY = 'sk-proj-operator0123456789wxyz'
const UUID = '0f8fad5b-d9cb-469f-a165-70867728950e'
const ACCOUNT = '0123456789abcdef0123456789abcdef'

/** Texts of providers about the operator, and the texts that a client is to read instead. */
const MESSAGES: Readonly<Record<string, readonly [message: string, passed: string]>> = {
  'an organisation of OpenAI': [
    'Rate limit reached for gpt-4o in organization org-Ab3dEfGh1jKlMnOpQrStUvWx on tokens per min (TPM): Limit 30000.',
    'Rate limit reached for gpt-4o in organization [redacted] on tokens per min (TPM): Limit 30000.',
  ],
  'an organisation without a digit': [
    'organization org-AbcdEfGhijKlMnOpQrStUvWx.',
    'organization [redacted].',
  ],
  'an organisation of Groq': [
    'in organization `org_01hqxyz8v9e2rt` service tier `on_demand`',
    'in organization `[redacted]` service tier `on_demand`',
  ],
  'a project': [
    'Project `proj_AbC123dEf456` does not have access to model `gpt-4o`.',
    'Project `[redacted]` does not have access to model `gpt-4o`.',
  ],
  'the key': [`Incorrect API key provided: ${KEY}.`, 'Incorrect API key provided: [redacted].'],
  'a shortened key': [
    'Incorrect API key provided: sk-proj-********************wxyz. You can find it',
    'Incorrect API key provided: [redacted]. You can find it',
  ],
  'a key shortened by dots': ['The key sk-...wxyz1 is revoked', 'The key [redacted] is revoked'],
  'a key without a digit': ['the key sk-of-the-operator is', 'the key [redacted] is'],
  'a key without a prefix': ['Bad key: abcd****wxyz', 'Bad key: [redacted]'],
  'a JWT': ['token eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ1XzEifQ.c2lnbmF0dXJl is', 'token [redacted] is'],
  'a key of Google': ['key AIzaSyA1234567890abcdefg', 'key [redacted]'],
  'an organisation of Anthropic': [
    `Your organization (${UUID}) has used its rate limit of 30,000 input tokens per minute`,
    'Your organization ([redacted]) has used its rate limit of 30,000 input tokens per minute',
  ],
  'a user of OpenRouter': ['user_2abcDEF34ghiJKL', '[redacted]'],
  'a project of Google': ["consumer 'projects/123456789'", "consumer '[redacted]'"],
  'a number of a project': ['of project_number:123456789 now', 'of [redacted] now'],
  'a role of AWS': [
    'User: arn:aws:iam::123456789012:user/deploy is not authorized',
    'User: [redacted] is not authorized',
  ],
  'an account of Cloudflare': [`accounts ${ACCOUNT} has no`, 'accounts [redacted] has no'],
  'an organisation after a line break': ['in\norg-Ab3dEfGh1jKl', 'in\n[redacted]'],
  nothing: [
    "This model's maximum context length is 128000 tokens (gpt-4o-2024-08-06, claude-3-5-sonnet-20241022).",
    "This model's maximum context length is 128000 tokens (gpt-4o-2024-08-06, claude-3-5-sonnet-20241022).",
  ],
  'a call that the client knows': [
    'No tool output found for function call call_9aBcDeF012 of task-42, req_011CSHoEeqs5',
    'No tool output found for function call call_9aBcDeF012 of task-42, req_011CSHoEeqs5',
  ],
}

const CODES = [
  'account_deactivated',
  'project_not_found',
  'insufficient_quota',
  'org_level_access_denied',
]

const url = 'https://provider.example/v1/chat/completions'

/** A handler in front of a provider at an address, which answers this to each call. */
function handlerAt(answer: () => Response, parts: Partial<Upstream> = {}) {
  const fetched = vi.spyOn(globalThis, 'fetch').mockImplementation(async () => answer())
  onTestFinished(() => fetched.mockRestore())
  const limiter = limiterOf()
  const upstream = { url, key: KEY, ...parts }
  const handle = modelHandler(limiter, { subject, prices: PRICES }, upstream)
  return { limiter, handle, fetched }
}

describe('a provider’s error does not tell its client', () => {
  it.each(Object.entries(MESSAGES))('%s', async (_, [message, passed]) => {
    const error = { message, type: 'requests', param: null, code: 'rate_limit_exceeded' }
    const { handle } = handlerAt(() => Response.json({ error }, { status: 429 }))
    const answer = await handle(post(QUESTION))
    expect(answer.status).toBe(429)
    expect(await answer.json()).toEqual({ error: { ...error, message: passed } })
  })

  it.each(CODES)('less than what it acts by: the code %s', async (code) => {
    const error = { message: 'No.', type: code, param: 'messages[0].content', code }
    const { handle } = handlerOf(() => Response.json({ error }, { status: 403 }))
    expect(await (await handle(post(QUESTION))).json()).toEqual({ error })
  })

  it('anything in a body that is not JSON', async () => {
    const { handle } = handlerOf(
      () => new Response(`<p>${KEY} of org-Ab3dEfGh1jKl</p>`, { status: 502 }),
    )
    const answer = await handle(post(QUESTION))
    expect([answer.status, await answer.text()]).toEqual([502, '<p>[redacted] of [redacted]</p>'])
  })

  it('anything of a body that is too long to read', async () => {
    let pulled = 0
    const endless = new ReadableStream<Uint8Array>({
      pull(controller) {
        pulled += 1
        controller.enqueue(new Uint8Array(10_000).fill(97))
      },
    })
    const onError = vi.fn<(error: unknown) => void>()
    const { handle, limiter } = handlerOf(() => new Response(endless, { status: 400 }), { onError })
    const answer = await handle(post(QUESTION))
    expect(answer.status).toBe(502)
    expect(await answer.json()).toMatchObject({ error: { code: 'upstream_unavailable' } })
    expect(pulled).toBeLessThan(10)
    expect(onError).toHaveBeenCalledOnce()
    await expect.poll(() => used(limiter, 'budget.daily')).toBe(0)
  })

  it('how to spend a second on a body made to be slow', async () => {
    for (const part of ['eyJ', 'sk-', 'org-a', '*', 'project ', 'aaaaaaaa-', 'arn:aws', '-_.*']) {
      const body = part.repeat(60_000 / part.length)
      const { handle } = handlerOf(() => new Response(body, { status: 400 }))
      expect((await handle(post(QUESTION))).status).toBe(400)
    }
  }, 10_000)
})

const PRIVATE = {
  'openai-organization': 'the-operator',
  'openai-project': 'proj_1',
  'anthropic-organization-id': UUID,
  'set-cookie': '__cf_bm=1',
  location: 'https://elsewhere.example/',
}
const KEPT = {
  'request-id': 'req_1',
  'x-request-id': 'req_1',
  'retry-after': '7',
  'retry-after-ms': '6500',
  'x-should-retry': 'false',
  'openai-processing-ms': '12',
}

it.each([200, 307, 400, 401, 429, 500])(
  'headers that name the operator are not passed on with status %d, and others are',
  async (status) => {
    const headers = { ...PRIVATE, ...KEPT }
    const { handle } = handlerOf(() => Response.json(recorded.CHAT_JSON, { status, headers }))
    const answer = await handle(post(QUESTION))
    await answer.text()
    expect(answer.status).toBe(status)
    const passed = Object.fromEntries(answer.headers)
    expect(passed).toMatchObject(KEPT)
    expect(Object.keys(PRIVATE).filter((name) => name in passed)).toEqual([])
  },
)

it('a redirect is not followed, which would take the key to another host', async () => {
  const { handle, fetched } = handlerAt(() => new Response(null, { status: 307, headers: PRIVATE }))
  expect((await handle(post(QUESTION))).status).toBe(307)
  expect(fetched).toHaveBeenCalledExactlyOnceWith(
    url,
    expect.objectContaining({ redirect: 'manual' }),
  )
})

/** The errors of the official clients behind a `fetch`, by format. */
const failuresOf = (fetch: FetchLike): Readonly<Record<string, () => Promise<unknown>>> => ({
  'openai-chat': () =>
    new OpenAI({ apiKey: 'k', fetch }).chat.completions.create(QUESTION as never).catch(factsOf),
  'anthropic-messages': () =>
    new Anthropic({ apiKey: 'k', fetch }).messages
      .create({ ...QUESTION, model: 'claude-opus-4-5', max_tokens: 9 } as never)
      .catch(factsOf),
})

function factsOf({ status, message, error, code, type }: Record<string, unknown>) {
  return { status, message, error, code, type }
}

describe('official clients act on an error as without a handler:', () => {
  const message = 'Too fast.'
  const soon = { 'retry-after-ms': '1' }
  const never = { 'x-should-retry': 'false' }
  const ERRORS: readonly (readonly [number, object, Record<string, string>])[] = [
    [400, { error: { message, type: 'invalid_request_error', param: 'model', code: 'x' } }, {}],
    [401, { error: { message, type: 'authentication_error', code: 'invalid_api_key' } }, {}],
    [429, { error: { message, type: 'tokens', code: 'rate_limit_exceeded' } }, soon],
    [429, { error: { message, type: 'insufficient_quota', code: 'insufficient_quota' } }, never],
    [500, { error: { message, type: 'server_error' } }, soon],
    [529, { type: 'error', error: { type: 'overloaded_error', message } }, soon],
  ]
  const APIS = ['openai-chat', 'anthropic-messages'] as const
  const cases = ERRORS.flatMap((error) => APIS.map((api) => ({ api, error })))

  it.each(cases)('$api, $error', async ({ api, error: [status, body, headers] }) => {
    const provider = () =>
      Response.json(body, { status, headers: { 'request-id': 'req_1', ...headers } })
    const { handle } = handlerOf(provider, { api })
    const plain = vi.fn<FetchLike>(async () => provider())
    const handled = vi.fn<FetchLike>((input, init) => handle(new Request(input, init)))
    const expected = await failuresOf(plain)[api]?.()
    expect(expected).toMatchObject({ status })
    expect(await failuresOf(handled)[api]?.()).toEqual(expected)
    expect(handled).toHaveBeenCalledTimes(plain.mock.calls.length)
  })
})

describe('a handler without a key', () => {
  it.each([undefined, null, '', '   ', 'sk-1\r\nx: y', 'sk-é'])(
    'says so at its first call, and charges nothing: %j',
    async (key) => {
      const { handle, limiter, fetched } = handlerAt(() => Response.json({}), {
        key: key as string,
      })
      await expect(handle(post(QUESTION))).rejects.toMatchObject({
        name: 'ConfigError',
        code: 'missing_credentials',
        option: 'modelHandler.send.key',
        message: expect.not.stringContaining('sk-') as string,
      })
      expect(fetched).not.toHaveBeenCalled()
      expect(await used(limiter, 'rpm')).toBe(0)
    },
  )

  it('is not one with a line break behind its key', async () => {
    const { handle, fetched } = handlerAt(() => Response.json(recorded.CHAT_JSON), {
      key: `${KEY}\n`,
    })
    expect((await handle(post(QUESTION))).status).toBe(200)
    expect(fetched.mock.calls[0]?.[1]?.headers).toMatchObject({ authorization: `Bearer ${KEY}` })
  })
})
