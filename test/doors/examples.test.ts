/* Programs in the shape of the vendors' examples do through each door what they do without one, but for those of this table. */
import {
  limitedFetch,
  limitedModel,
  modelHandler,
  type AiSdkModel,
  type FetchLike,
  type ModelApi,
} from '@sluice/ai'
import { fallback } from '@sluice/ai/fallback'
import { withBudget, type ModelClient } from '@sluice/ai/with-budget'
import { memory } from '@sluice/core/memory'
import { beforeAll, describe, expect, it, vi } from 'vitest'
import { DOORS as FETCHES, PRICES, roomyDoor } from './doors.ts'
import { EXAMPLES, type Example, type ExampleWay } from './examples.ts'
import { createProvider, type Provider } from './provider.ts'
import { SDK_EXAMPLES } from './sdk-examples.ts'

// The SDK says what a model ignores, once a call.
beforeAll(() => void vi.stubGlobal('AI_SDK_LOG_WARNINGS', false))

const APIS: readonly (readonly [string, ModelApi])[] = [
  ['/chat/completions', 'openai-chat'],
  ['/responses', 'openai-responses'],
  ['/embeddings', 'openai-embeddings'],
  ['/messages', 'anthropic-messages'],
]
const apiOf = (url: string): ModelApi =>
  (APIS.find(([end]) => new URL(url).pathname.endsWith(end))?.[1] ?? '') as ModelApi

const same = <Client extends object>(client: Client): Client => client
const isModel = (client: object): client is AiSdkModel => 'doGenerate' in client

/** The models that answer instead of those that a provider refuses. */
const OTHERS: Readonly<Record<string, string>> = {
  'gpt-4o': 'gpt-4o-mini',
  'gpt-5.4': 'o4-mini',
  'claude-opus-4-6': 'claude-sonnet-4-5',
}

/** A provider that refuses the models that have another. */
const refusing =
  ({ fetch }: Provider): FetchLike =>
  async (input, init) => {
    const { model } = JSON.parse(init?.body as string) as { readonly model: string }
    return model in OTHERS ? Response.json({ error: {} }, { status: 503 }) : fetch(input, init)
  }

/** The doors. Those that take a `fetch` or are a server have all examples, the others those whose client they take. */
const WAYS: Readonly<Record<string, (provider: Provider) => ExampleWay>> = {
  limitedFetch({ fetch }) {
    const { limiter, options } = roomyDoor()
    return { fetch: limitedFetch(limiter, { ...options, fetch }), over: same }
  },
  modelHandler({ fetch }) {
    const { limiter, options } = roomyDoor()
    const handlerAt: FetchLike = async (input, init) => {
      const request = new Request(input, init)
      const terms = { ...options, subject: () => ({ tenant: 'acme' }), api: apiOf(request.url) }
      const handle = modelHandler(limiter, terms, ({ body, signal }) =>
        fetch(request.url, { method: 'POST', body, signal }),
      )
      return handle(request)
    }
    return { fetch: handlerAt, over: same }
  },
  prepareModelCalls(provider) {
    const { limiter, options } = roomyDoor()
    const door = FETCHES['prepareModelCalls behind an adapter']
    const behind: FetchLike = async (input, init) => {
      const request = new Request(input, init)
      const address = { url: request.url, api: apiOf(request.url), model: '' }
      const answer = await door?.(limiter, options, address, provider)(await request.text())
      return answer as Response
    }
    return { fetch: behind, over: same }
  },
  withBudget({ fetch }) {
    const options = { store: memory(), tenant: 1_000_000_000, prices: PRICES }
    return { fetch, over: (client) => withBudget(client as ModelClient, options)('acme') as never }
  },
  limitedModel({ fetch }) {
    const { limiter, options } = roomyDoor()
    const over = (client: object) =>
      isModel(client) ? limitedModel(client, limiter, options) : client
    return { fetch, over: over as ExampleWay['over'] }
  },
  'limitedFetch with a list': (provider) => {
    const { limiter, options } = roomyDoor()
    const fallbackModels = fallback(({ askedModel }) => [OTHERS[askedModel] ?? []].flat())
    const fetch = limitedFetch(limiter, { ...options, fallbackModels, fetch: refusing(provider) })
    return { fetch, over: same }
  },
  'limitedModel with a list': (provider) => {
    const { limiter, options } = roomyDoor()
    const over = (client: object) => {
      if (!isModel(client)) return client
      const other = Object.create(client, {
        modelId: { value: OTHERS[client.modelId] },
      }) as AiSdkModel
      return limitedModel(client, limiter, { ...options, fallbackModels: fallback([other]) })
    }
    return { fetch: refusing(provider), over: over as ExampleWay['over'] }
  },
}

/** Answers as models that reason do, whose thoughts are stored unless they are asked for, and with JSON where a schema is. */
function lifelike(provider: Provider): Provider {
  return {
    ...provider,
    async fetch(input, init) {
      const answer = await provider.fetch(input, init)
      const body = JSON.stringify(provider.requests.at(-1)?.body ?? {})
      const thought = { type: 'reasoning', id: 'rs_1', summary: [] }
      const kept = body.includes('encrypted_content"') ? { encrypted_content: 'gAAA' } : {}
      let text = await answer.text()
      text = text.replace('"output":[{', `"output":[${JSON.stringify({ ...thought, ...kept })},{`)
      if (/"schema":|"json_schema"/.test(body)) {
        text = text
          .replaceAll('"Hello there"', '"{\\"city\\":\\"Paris\\"}"')
          .replaceAll('"Hello"', '"{\\"city\\":"')
          .replaceAll('" there"', '"\\"Paris\\"}"')
      }
      return new Response(text, answer)
    },
  }
}

const NOT_COUNTED = 'may cost more than the tokens that are counted'
const STORED = 'names input that only the provider has'

/** The differences from no limiter, and why: the text that the program gets. Some differ at a door alone. */
const DIFFERENCES: Readonly<Record<string, string>> = {
  'openai, a chat with a prediction': `body.prediction: ${NOT_COUNTED}`,
  'openai, a conversation by the earlier response': `body.previous_response_id: ${STORED}`,
  // The remedy that the text names is the next example: `store: false`.
  'openai, tools by all items': `body.id: ${STORED}, "rs_1"`,
  'openai, a search': `body.tools: ${NOT_COUNTED}`,
  'openai, in the background': `body.background: ${NOT_COUNTED}`,
  'openai, a compaction': `body.context_management: ${NOT_COUNTED}`,
  'anthropic, a search': `body.tools: ${NOT_COUNTED}`,
  // It asks for the usage of the stream, and leaves it in.
  'openai, a chat that is streamed, through prepareModelCalls': ',[]]',
}

/** Steps of the AI SDK name reasoning that OpenAI keeps, unless it keeps nothing. `limitedModel` counts it by its summary. */
const STEPS = ['ai 5', 'ai 6', 'ai 7'].flatMap((version) =>
  ['steps', 'an agent'].flatMap((what) =>
    ['limitedFetch', 'modelHandler', 'prepareModelCalls', 'limitedFetch with a list'].map(
      (door) => `${version}, openai, responses, ${what}, through ${door}`,
    ),
  ),
)

async function outcomeOf(example: Example, way: ExampleWay): Promise<string> {
  const [result] = await Promise.allSettled([example(way)])
  if (result?.status === 'rejected') return `throws: ${(result.reason as Error).message}`
  return JSON.stringify(result?.value)
}

const CELLS = Object.keys(WAYS).flatMap((door) =>
  Object.entries({ ...EXAMPLES, ...SDK_EXAMPLES })
    .filter(([name]) => !door.startsWith('limitedModel') || name.startsWith('ai '))
    .filter(([name]) => door !== 'withBudget' || !/^(mistral|langchain)/.test(name))
    .map(([name, example]) => ({ door, name, example })),
)

it('each difference is that of an example', () => {
  const names = new Set(CELLS.flatMap(({ name, door }) => [name, `${name}, through ${door}`]))
  expect([...Object.keys(DIFFERENCES), ...STEPS].filter((one) => !names.has(one))).toEqual([])
})

describe.each(CELLS)('$name, through $door', ({ door, name, example }) => {
  it('does what it does without it, or says what differs', async () => {
    const direct = await outcomeOf(example, {
      fetch: lifelike(createProvider()).fetch,
      over: same,
    })
    expect(direct).not.toMatch(/^throws/)
    const provider = lifelike(createProvider())
    const limited = await outcomeOf(example, (WAYS[door] as (typeof WAYS)[string])(provider))
    const cell = `${name}, through ${door}`
    const differs =
      DIFFERENCES[name] ?? (STEPS.includes(cell) ? `body.id: ${STORED}` : DIFFERENCES[cell])
    expect([limited === direct, limited]).toEqual([
      differs === undefined,
      expect.stringContaining(differs ?? ''),
    ])
  })
})
