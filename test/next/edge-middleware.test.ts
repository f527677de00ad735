import { describe } from 'vitest'
import { describeVariant, type PathVariant } from './cases/variant.ts'

const VARIANTS: readonly PathVariant[] = [
  { name: 'edge middleware' },
  { name: 'edge middleware under a basePath', basePath: '/app' },
]

describe.each(VARIANTS)('next start, $name:', (variant) => {
  describeVariant(variant)
})
