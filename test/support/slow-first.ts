import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** The files that take longest. Begun last, one of them would keep a single core busy while the others idle. */
const SLOW = [
  'test/observability/dashboard/scenarios.test.ts',
  'test/observability/dashboard/dashboard.test.ts',
  'test/next/edge-middleware.test.ts',
  'test/next/node-proxy.test.ts',
  'test/core/reservations/invariants.test.ts',
  'test/observability/prometheus/alerts.test.ts',
  'test/e2e/demo.test.ts',
  'test/conformance/model.test.ts',
  'test/doors/bodies.test.ts',
  'test/usage/report/findings.test.ts',
  'test/doors/clients.test.ts',
  'test/observability/next/next.test.ts',
  'test/trace/exactness.test.ts',
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
