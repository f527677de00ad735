import { describe } from 'vitest'
import { describeVariant, type PathVariant } from './cases/variant.ts'

const VARIANTS: readonly PathVariant[] = [
  { name: 'proxy on Node', proxy: true },
  { name: 'proxy on Node with trailing slashes', proxy: true, trailingSlash: true },
]

describe.each(VARIANTS)('next start, $name:', (variant) => {
  describeVariant(variant)
})
