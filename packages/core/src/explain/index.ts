export { explain } from './explain.ts'
export type { ExplainOptions, Explanation, PolicyDenial, Raise } from './explain.ts'
export { explanationText } from './text.ts'
