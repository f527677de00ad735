/* Stand-ins of the shape of each provider: pages are in the gateway's `ready-made.ts`. */
import { MODELS } from '../../support/models.ts'
import type { GatewayProvider } from './gateway.ts'
import { keyOf } from './gateway-providers.ts'

/** The usage that every stand-in tells. */
export const USAGE = { prompt_tokens: 1_200, completion_tokens: 310, total_tokens: 1_510 }

type Header = 'authorization' | 'x-api-key' | 'api-key'

/** A ready-made provider, and the answers of a stand-in of its shape. */
interface Row {
  readonly id: string
  /** A model by the name that a client uses, and by the one that is sent. */
  readonly model: string
  readonly sent?: string
  readonly path: string
  readonly search?: string
  readonly header?: Header
  /** The members of the last chunk that tell the usage; `asked` if only the `stream_options` make it do so. */
  readonly told?: object
  readonly isAsked?: boolean
  /** The body of an error. */
  readonly error?: object
  /** The answer to a wrong key. */
  readonly refused?: readonly [status: number, body: object]
}

/** The providers of the fixture that chat: the ready-made ones, and two of an operator's own. */
export const ROWS: readonly Row[] = [
  {
    id: 'openai',
    model: `openai/${MODELS.openai}`,
    sent: MODELS.openai,
    path: '/chat/completions',
    isAsked: true,
  },
  {
    id: 'azure',
    model: `azure/${MODELS.openai}`,
    sent: 'my-deployment',
    path: '/chat/completions',
    header: 'api-key',
    isAsked: true,
    error: { error: { code: 'DeploymentNotFound', message: 'The API deployment does not exist.' } },
  },
  {
    id: 'openrouter',
    model: 'openrouter/meta-llama/llama-4-scout',
    sent: 'meta-llama/llama-4-scout',
    path: '/chat/completions',
    told: { usage: { ...USAGE, cost: 0.000_1 } },
    error: { error: { code: 402, message: 'Insufficient credits', metadata: {} } },
  },
  {
    id: 'groq',
    model: 'openai/gpt-oss-20b',
    path: '/chat/completions',
    told: { x_groq: { id: 'req_1', usage: USAGE } },
  },
  {
    id: 'mistral',
    model: 'mistral-large-latest',
    path: '/chat/completions',
    told: { usage: USAGE },
    error: { object: 'error', message: 'Service tier capacity exceeded', code: '3505' },
  },
  { id: 'deepseek', model: 'deepseek-flash', path: '/chat/completions', isAsked: true },
  {
    id: 'xai',
    model: 'grok-4.7',
    path: '/chat/completions',
    isAsked: true,
    error: { code: 'The model is at capacity', error: 'Try again later.' },
    refused: [
      400,
      { code: 'invalid argument', error: `Incorrect API key provided: ${keyOf('xai')}` },
    ],
  },
  {
    id: 'gemini',
    model: 'gemini-3.8-flash',
    path: '/chat/completions',
    isAsked: true,
    error: [{ error: { code: 429, message: 'Quota exceeded', status: 'RESOURCE_EXHAUSTED' } }],
    refused: [
      400,
      [
        {
          error: {
            code: 400,
            status: 'INVALID_ARGUMENT',
            details: [{ reason: 'API_KEY_INVALID' }],
          },
        },
      ],
    ],
  },
  {
    id: 'workers-ai',
    model: '@cf/meta/llama-4-scout-17b-16e-instruct',
    path: '/chat/completions',
    isAsked: true,
    error: { success: false, errors: [{ code: 3_040, message: 'Capacity temporarily exceeded' }] },
  },
  {
    id: 'dated',
    model: 'mine',
    path: '/openai/deployments/mine/chat/completions',
    search: '?api-version=2024-10-21',
    header: 'api-key',
    isAsked: true,
  },
  {
    id: 'vllm',
    model: 'qwen3-8b',
    sent: 'Qwen/Qwen3-8B',
    path: '/chat/completions',
    isAsked: true,
  },
]

const choice = (delta: object, finish_reason: string | null = null) => [
  { index: 0, delta, finish_reason },
]

const event = (data: object): string => `data: ${JSON.stringify(data)}\n\n`

/** Answers with a stream that tells its usage as the provider of the row does. */
export const streamOf =
  ({ model, sent = model, told, isAsked }: Row): GatewayProvider['respond'] =>
  ({ body }) => {
    if (
      told !== undefined &&
      'usage' in told &&
      body['stream_options'] !== undefined &&
      model.startsWith('mistral')
    ) {
      return Response.json({ detail: 'Extra inputs are not permitted' }, { status: 422 })
    }
    const head = { id: 'c-1', object: 'chat.completion.chunk', created: 1, model: sent }
    const text = event({ ...head, choices: choice({ role: 'assistant', content: 'Rayleigh.' }) })
    const last = event({ ...head, choices: choice({}, 'stop'), ...told })
    const asked =
      isAsked && body['stream_options'] ? event({ ...head, choices: [], usage: USAGE }) : ''
    return new Response(`${text}${last}${asked}data: [DONE]\n\n`, {
      headers: { 'content-type': 'text/event-stream' },
    })
  }
