// Model calls
export { modelHandler } from './model-handler.ts'
export type { CallToSend, ModelHandlerOptions, SendCall } from './model-handler.ts'
export type { Upstream } from './call/upstream.ts'
export { limitedFetch } from './limited-fetch.ts'
export type { FetchLike, LimitedFetchOptions } from './limited-fetch.ts'
export type { PassThrough, UnpricedRequest } from './call/pass-through.ts'
export { limitedModel, ModelCallDenied } from './limited-model.ts'
export type { AiSdkModel, LimitedModelOptions } from './limited-model.ts'
export { prepareModelCalls } from './prepare-model-calls.ts'
export type { ModelUnits, PrepareOptions, ReadyCall, RefusedCall } from './prepare-model-calls.ts'
export { modelPolicies } from './model-policies.ts'
export type { ModelPoliciesOptions } from './model-policies.ts'
export type { ModelApi } from './call/api.ts'
export { boundInput } from './call/bound-input.ts'
export type { CountInput } from './call/bound-input.ts'
export type { CallOptions } from './call/engine.ts'
export type { CallTerms } from './call/prepare.ts'

// Budgets and limits
export { budget, usd } from './budget.ts'
export type { BudgetOptions } from './budget.ts'
export { learnedOutput } from './learned-output.ts'
export type { LearnedOutput, LearnedOutputOptions } from './learned-output.ts'
export { budgetBelow } from './budget-below.ts'
export { modelLimits } from './model-limits.ts'
export type { ModelLimits, ModelLimitsOptions, ModelLimitPolicies } from './model-limits.ts'

// Estimates
export { estimateTokens, tokenCounter } from './tokens.ts'
export type { TokenCounter } from './tokens.ts'
export { estimateRequest } from './request.ts'
export type { EstimateRequestOptions, RequestEstimate } from './estimate.ts'

// Prices
export { definePrices, findPrice, priceOf } from './prices.ts'
export type { DefinePricesOptions, ModelPrice, Priced, Prices, Rates } from './prices.ts'
export { LIST_PRICES } from './price-list.ts'

// Metering
export { meter, meterStream } from './meter.ts'
export type { MeterOptions, MeterResponseOptions, MeterStreamOptions } from './meter-options.ts'
export { meterModel, usageOfAiSdk } from './ai-sdk.ts'
export type { MeterModel } from './ai-sdk.ts'
export type { ModelUsage, Settle, Usage } from './usage.ts'
