import { usd } from '@sluice/ai'
import { withBudget } from '@sluice/ai/with-budget'
import { memory } from '@sluice/core/memory'
import OpenAI, { AzureOpenAI, type AzureClientOptions } from 'openai'
import { describe, expect, it } from 'vitest'

/** A client that is copied as in versions 5 and 6 of OpenAI's SDK: without the options that only Azure's has. */
class Azure6 extends AzureOpenAI {
  override withOptions(options: AzureClientOptions): this {
    return OpenAI.prototype.withOptions.call(this, options) as this
  }
}

const PAGE = { endpoint: 'https://acme.openai.azure.com', apiVersion: '2026-01-01' }
const WAYS: Readonly<Record<string, [AzureClientOptions, header: string, value: string]>> = {
  'a key': [{ ...PAGE, apiKey: 'k' }, 'api-key', 'k'],
  'tokens of Entra': [
    { ...PAGE, azureADTokenProvider: async () => 't' },
    'authorization',
    'Bearer t',
  ],
  'a deployment': [{ ...PAGE, apiKey: 'k', deployment: 'mine' }, 'api-key', 'k'],
}
const CELLS = Object.entries(WAYS).flatMap(([name, way]) =>
  [AzureOpenAI, Azure6].map((Client) => ({ name, Client, version: Client.name, way })),
)

describe.each(CELLS)(
  'withBudget, with $name of $version',
  ({ Client, way: [options, header, value] }) => {
    it('calls at the same address, version and deployment, with the same credential', async () => {
      const sent: [string, string | null][] = []
      const fetch = async (url: unknown, init?: RequestInit): Promise<Response> => {
        sent.push([String(url), new Headers(init?.headers).get(header)])
        return Response.json({ model: 'gpt-4o', choices: [], output: [], usage: {} })
      }
      const azure = withBudget(new Client({ ...options, fetch }), {
        store: memory(),
        tenant: usd(1),
      })
      const messages = [{ role: 'user' as const, content: 'Why?' }]
      await azure('acme').chat.completions.create({ model: 'gpt-4o', messages })
      await azure('acme').responses.create({ model: 'gpt-4o', input: 'Why?' })
      const root = 'https://acme.openai.azure.com/openai'
      const { deployment = 'gpt-4o' } = options
      expect(sent).toEqual([
        [`${root}/deployments/${deployment}/chat/completions?api-version=2026-01-01`, value],
        [`${root}/responses?api-version=2026-01-01`, value],
      ])
    })
  },
)
