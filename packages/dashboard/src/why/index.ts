export { whyDenied, type WhyOptions } from './why-denied.ts'
