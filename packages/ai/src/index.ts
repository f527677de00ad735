// Model calls
export { modelHandler } from './doors/model-handler.ts'
export type { CallToSend, ModelHandlerOptions, SendCall } from './doors/model-handler.ts'
export type { Upstream } from './call/upstream.ts'
export { limitedFetch, type FetchLike, type LimitedFetchOptions } from './doors/limited-fetch.ts'
export type { PassThrough, UnpricedRequest } from './call/pass-through.ts'
export { limitedModel, ModelCallDenied } from './doors/limited-model.ts'
export type { LimitedModelOptions } from './doors/limited-model.ts'
export type { AiSdkModel } from './call/model-call.ts'
export { prepareModelCalls } from './doors/prepare-model-calls.ts'
export type {
  ModelUnits,
  PrepareOptions,
  ReadyCall,
  RefusedCall,
} from './doors/prepare-model-calls.ts'
export { modelPolicies, type ModelPoliciesOptions } from './policies/model-policies.ts'
export type { ModelApi } from './call/api.ts'
export { boundInput, type CountInput } from './call/bound-input.ts'
export type { CallOptions } from './call/options.ts'
export type { CallTerms } from './call/prepare.ts'

// Budgets and limits
export { budget, usd, type BudgetOptions } from './policies/budget.ts'
export { learnedOutput } from './policies/learned-output.ts'
export type { LearnedOutput, LearnedOutputOptions } from './policies/learned-output.ts'
export { budgetBelow } from './policies/budget-below.ts'
export { modelLimits } from './policies/model-limits.ts'
export type {
  ModelLimits,
  ModelLimitsOptions,
  ModelLimitPolicies,
} from './policies/model-limits.ts'

// Estimates
export { estimateTokens, tokenCounter, type TokenCounter } from './estimate/tokens.ts'
export { estimateRequest } from './estimate/request.ts'
export type { EstimateRequestOptions, RequestEstimate } from './estimate/estimate.ts'

// Prices
export { definePrices, findPrice, priceOf } from './prices/prices.ts'
export type {
  DefinePricesOptions,
  LiveTable,
  ModelPrice,
  PricedCall,
  PricedUsage,
  Prices,
  Rates,
} from './prices/prices.ts'
export { joinPrices } from './prices/join-prices.ts'
export { LIST_PRICES } from './prices/price-list.ts'
export { markedUp } from './prices/marked-up.ts'

// Metering
export { meter, meterStream } from './meter/meter.ts'
export type {
  MeterOptions,
  MeterResponseOptions,
  MeterStreamOptions,
} from './meter/meter-options.ts'
export { meterModel, usageOfAiSdk, type MeterModel } from './meter/ai-sdk.ts'
export type { ModelUsage, Settle, Usage } from './usage.ts'
