import type { Store } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { storeConformance } from '@sluice/core/testing'
import { describe, expect, it } from 'vitest'
import { MUTANTS } from './mutants.ts'

/** The messages of the claims that fail for a store. */
async function failuresOf(makeStore: () => Store): Promise<Map<string, string>> {
  const claims: [string, () => Promise<void>][] = []
  storeConformance({
    describe: (_, body) => body(),
    it: (claim, body) => void claims.push([claim, body]),
    makeStore,
  })
  const failures = new Map<string, string>()
  for (const [claim, body] of claims) {
    await body().catch((error: unknown) => failures.set(claim, String(error)))
  }
  return failures
}

describe('the conformance suite of stores', () => {
  it('passes a correct store', async () => {
    expect(await failuresOf(() => memory())).toEqual(new Map())
  })

  it.each(Object.entries(MUTANTS))('catches a store that %s', async (_, [make, claim]) => {
    const failures = await failuresOf(make)
    expect([...failures.keys()]).toContain(claim)
  })

  it('reports why a store failed', async () => {
    const failures = await failuresOf(MUTANTS['fails']?.[0] ?? memory)
    expect(failures.get('peek charges nothing')).toContain('store_failed')
    expect(failures.get('peek charges nothing')).toContain('disk full')
  })
})
