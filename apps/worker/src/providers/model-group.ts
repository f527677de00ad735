import type { ModelHandlerOptions, Prices } from '@sluice/ai'
import type { Offer } from './offer.ts'

/** The models that one handler answers for. */
export interface ModelGroup extends Pick<
  ModelHandlerOptions,
  'allowFields' | 'fallbackModels' | 'includeUsage'
> {
  readonly models: NonNullable<ModelHandlerOptions['models']>
  readonly prices: Prices
  /** Returns the offer of a model, by its name in the handler. */
  readonly offerOf: (model: string) => Offer
  /** Returns the body that the provider of a model takes. @default the same */
  readonly adapt?: (body: string, model: string) => string
}
