export { algorithmConformance } from './algorithm-conformance.ts'
export type { AlgorithmConformance, PolicyToTest } from './algorithm-conformance.ts'
export { storeConformance, type StoreConformance } from './store-conformance.ts'
export type { TestFramework } from './suite.ts'
