import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** The files that take longest. Begun last, one of them would keep a single core busy while the others idle. */
const SLOW = [
  'test/next/variants.test.ts',
  'test/e2e/demo.test.ts',
  'test/conformance/conformance.test.ts',
  'test/packaging/consumer.test.ts',
  'test/packaging/packages.test.ts',
]

/** Begins the slowest files first. A fresh clone knows no times of its own to sort by. */
export class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // oxlint-disable-next-line unicorn/no-array-sort -- No array sorts here.
    const sorted = await super.sort(files)
    return sorted.toSorted((a, b) => rankOf(a) - rankOf(b))
  }
}

function rankOf({ moduleId }: TestSpecification): number {
  const index = SLOW.findIndex((name) => moduleId.endsWith(name))
  return index < 0 ? SLOW.length : index
}
