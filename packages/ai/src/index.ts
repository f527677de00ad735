// Budgets and limits
export { budget, usd } from './budget.ts'
export type { BudgetOptions } from './budget.ts'
export { modelLimits } from './model-limits.ts'
export type { ModelLimits, ModelLimitsOptions, ModelPolicies } from './model-limits.ts'

// Estimates
export { estimateTokens, tokenCounter } from './tokens.ts'
export type { TokenCounter } from './tokens.ts'
export { estimateRequest } from './request.ts'
export type { EstimateRequestOptions, RequestEstimate } from './request.ts'

// Prices
export { definePrices, findPrice, priceOf } from './prices.ts'
export type { DefinePricesOptions, ModelPrice, Priced, Prices, Rates } from './prices.ts'
export { LIST_PRICES } from './price-list.ts'

// Metering
export { meter, meterStream } from './meter.ts'
export type { MeterOptions, MeterResponseOptions } from './meter.ts'
export { meterModel, usageOfAiSdk } from './ai-sdk.ts'
export type { MeterModel } from './ai-sdk.ts'
export type { Settle, Usage } from './usage.ts'
