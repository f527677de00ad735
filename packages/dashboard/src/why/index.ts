export { whyDenied } from './why-denied.ts'
export type { WhyOptions } from './why-denied.ts'
