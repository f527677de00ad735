import type { Prices } from '@sluice/ai'

/** The path of each kind of call, below the address of a provider. */
export const PATHS = {
  'openai-chat': '/chat/completions',
  'openai-responses': '/responses',
  'openai-embeddings': '/embeddings',
  'anthropic-messages': '/v1/messages',
  'anthropic-count-tokens': '/v1/messages/count_tokens',
} as const

/** A kind of call. */
export type Api = keyof typeof PATHS

/** A provider of models. */
export interface Provider {
  /** Its name before the slash of `provider/model`: small letters, digits and dashes. */
  readonly id: string
  /** The kinds of calls that it answers; by path below `url`, where its own differ from OpenAI's and Anthropic's. */
  readonly apis: readonly Api[] | Readonly<Partial<Record<Api, string>>>
  /**
   * Its address. The variable `<ID>_BASE_URL` names another one, and must do so if this one has a part
   * to fill in, such as `<account>`.
   */
  readonly url: string
  /** The header of its key. @default 'x-api-key' for Anthropic's calls, 'bearer' (`Authorization: Bearer`) for others */
  readonly auth?: 'bearer' | 'x-api-key' | 'api-key'
  /** Parameters of each address, such as Azure's `api-version`. @default none */
  readonly query?: Readonly<Record<string, string>>
  /** The name of the secret that holds its key, such as `OPENAI_API_KEY`. It is on when the secret is set. */
  readonly key: string
  /** Its prices. */
  readonly prices: Prices
  /** The models to offer: a list, or the provider's name of each by ours. @default all that `prices` lists */
  readonly models?: readonly string[] | Readonly<Record<string, string>>
  /** False if it refuses `stream_options`. @default true */
  readonly includeUsage?: boolean
  /** Fields of a body to let through beside those that cost nothing but tokens: nobody counts what they cost. @default none */
  readonly allowFields?: readonly string[]
  /**
   * True if a setting of its account may choose a service tier with higher prices: each chat and response then names the
   * tier `default`. @default false
   */
  readonly hasTierSetting?: boolean
}

/** A model of a list. With `mayCostMore` it is also called where it is estimated to cost more than the models before it. */
type AliasModel = string | { readonly model: string; readonly mayCostMore: boolean }

/** A model, or a list of models, of which the first is called that every budget and limit has room for. */
export type AliasTarget = string | readonly AliasModel[]

/** Other names of models, which may stand for others in each plan. */
export type Aliases = Readonly<Record<string, AliasTarget | Readonly<Record<string, AliasTarget>>>>

/** Returns the name of the variable with the address of a provider. */
export const baseUrlVariable = ({ id }: Pick<Provider, 'id'>): string =>
  `${id.toUpperCase().replaceAll('-', '_')}_BASE_URL`
