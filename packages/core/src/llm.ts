// Budgets and limits
export { budget, usd } from './llm/budget.ts'
export type { BudgetOptions } from './llm/budget.ts'
export { modelLimits } from './llm/model-limits.ts'
export type { ModelLimits, ModelLimitsOptions, ModelPolicies } from './llm/model-limits.ts'

// Estimates
export { estimateTokens, tokenCounter } from './llm/tokens.ts'
export type { TokenCounter } from './llm/tokens.ts'
export { estimateRequest } from './llm/request.ts'
export type { EstimateRequestOptions, RequestEstimate } from './llm/request.ts'

// Prices
export { definePrices, findPrice, priceOf } from './llm/prices.ts'
export type { DefinePricesOptions, ModelPrice, Priced, Prices, Rates } from './llm/prices.ts'
export { LIST_PRICES } from './llm/price-list.ts'

// Metering
export { meter, meterStream } from './llm/meter.ts'
export type { MeterOptions, MeterResponseOptions } from './llm/meter.ts'
export { meterModel, usageOfAiSdk } from './llm/ai-sdk.ts'
export type { MeterModel } from './llm/ai-sdk.ts'
export type { Settle, Usage } from './llm/usage.ts'
