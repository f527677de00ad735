import type { Offer } from './offer.ts'

/** Describes a model in a shape that OpenAI's and Anthropic's clients both read. */
export const describeModel = (id: string, { provider }: Offer): object => ({
  id,
  object: 'model',
  created: 0,
  owned_by: provider.id,
  type: 'model',
  display_name: id,
  created_at: '1970-01-01T00:00:00Z',
})

/** Lists models in a shape that OpenAI's and Anthropic's clients both read. */
export function modelList(models: readonly (readonly [id: string, offer: Offer])[]): object {
  return {
    object: 'list',
    data: models.map(([id, offer]) => describeModel(id, offer)),
    has_more: false,
    first_id: models[0]?.[0] ?? null,
    last_id: models.at(-1)?.[0] ?? null,
  }
}
