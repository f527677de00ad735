import { modelTelemetry } from '@sluice/otel'
import { expect, it } from 'vitest'
import { handlerOf, post, QUESTION } from '../ai/doors.ts'
import { CHAT_JSON } from '../ai/recordings.ts'
import { startSdk, type Sdk } from './support.ts'

const tokensOf = async (sdk: Sdk, name: string): Promise<unknown[]> =>
  (await sdk.points(`gen_ai.client.inference.usage.${name}`)).map(({ value }) => value)

it('a call by modelHandler is reported with the tokens that its provider told', async () => {
  const sdk = startSdk()
  const onUsage = modelTelemetry({ provider: 'openai', meterProvider: sdk.meterProvider })
  const { handle } = handlerOf(() => Response.json(CHAT_JSON), { onUsage })
  await (await handle(post(QUESTION))).text()
  const { usage } = CHAT_JSON as {
    usage: { prompt_tokens: number; completion_tokens: number }
  }
  const tokens = async () => [
    ...(await tokensOf(sdk, 'input_tokens')),
    ...(await tokensOf(sdk, 'output_tokens')),
  ]
  await expect.poll(tokens).toEqual([usage.prompt_tokens, usage.completion_tokens])
  await sdk.stop()
})
