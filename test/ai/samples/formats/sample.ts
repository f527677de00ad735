import type { Usage } from '@sluice/ai'
import type { UsageFormat } from '@sluice/ai/formats'

/** An answer as its vendor documents it, and the usage that it tells. */
export interface Sample {
  readonly body: string | Uint8Array<ArrayBuffer>
  readonly type: string
  readonly usage: Partial<Usage>
  /** The part of the body that ends before its usage is final; `undefined` if every part does. */
  readonly cut?: string | Uint8Array<ArrayBuffer>
}

/** The answers of a provider, by what the table in `docs/call-charges.md` calls them. */
export interface Provider {
  readonly formats: readonly UsageFormat[]
  /** The name of the import. */
  readonly from: string
  readonly json: readonly Sample[]
  readonly stream: readonly Sample[]
  /** An answer in this format that tells no usage. */
  readonly silent?: string | Uint8Array<ArrayBuffer>
}

/** The text of the model in each sample, in pieces. */
export const TEXTS = ['The sky', ' is blue because', ' of Rayleigh scattering', ' 🌈。']
export const TEXT: string = TEXTS.join('')

export const JSON_TYPE = 'application/json'
export const SSE_TYPE = 'text/event-stream'

export const sse = (...events: readonly unknown[]): string =>
  events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')

export const lines = (...values: readonly unknown[]): string =>
  values.map((value) => `${JSON.stringify(value)}\n`).join('')

export const json = (body: object, usage: Partial<Usage>): Sample => ({
  body: JSON.stringify(body),
  type: JSON_TYPE,
  usage,
})
