import type { SourceFile } from '../../lib/scenarios/source'

/** A scenario, and the files behind it. */
export interface ShownScenario {
  readonly id: string
  readonly title: string
  readonly story: string
  readonly tenants: readonly string[]
  readonly traffic: SourceFile
  readonly limits: SourceFile
}
