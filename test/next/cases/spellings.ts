import { describe, expect, it } from 'vitest'
import type { RawResponse } from '../support/raw.ts'
import { canonical, newTenant, reportOf, type SetUp } from '../support/set-up.ts'
import { SPELLINGS, type Spelling } from '../support/spellings.ts'

/** Handlers, and where the app's own links find them. */
const HANDLERS: Readonly<Record<string, string>> = {
  evaluate: '/api/ai/evaluate',
  models: '/api/ai/models/evaluate',
  named: '/api/named/evaluate',
  'any-evaluate': '/api/ai/any/evaluate',
  gateway: '/api/gateway/evaluate',
  both: '/api/both/evaluate',
  wrapped: '/api/wrapped/evaluate',
  open: '/api/open/evaluate',
}

/**
 * A gateway's reading of `..` depends on the URL that it builds. It is counted, but on the budget of
 * all that matches no route.
 */
const SHARED = { handler: 'gateway', name: 'with an encoded way to another route' }

/** No spelling of a path has a budget of its own, and none has no budget. */
export function describeSpellings(setUp: () => SetUp): void {
  describe('a path', () => {
    const reached = new Map<string, Set<string>>()

    it.each(SPELLINGS)(
      '$name runs a handler on the same budget, or not at all',
      async (spelling) => {
        const overruns: string[] = []
        for (const [handler, path] of Object.entries(HANDLERS)) {
          const found = await handlerFound(setUp(), path, spelling)
          if (found === undefined) continue
          reached.set(found, (reached.get(found) ?? new Set()).add(spelling.name))
          const ways = [[spelling, spelling]]
          const isShared = found === SHARED.handler && spelling.name === SHARED.name
          if (found === handler && !isShared) ways.push([spelling, LINKED], [LINKED, spelling])
          for (const way of ways) {
            const runs = await runsOf(setUp(), path, way)
            if (runs !== 1)
              overruns.push(`${found} by ${way.map(({ name }) => name).join()}: ${runs}`)
          }
        }
        expect(overruns).toEqual([])
      },
    )

    it('reaches a handler under enough spellings to prove this', () => {
      const fewest = Object.keys(HANDLERS).map((name) => reached.get(name)?.size ?? 0)
      expect(Math.min(...fewest)).toBeGreaterThanOrEqual(15)
      expect(Math.max(...fewest)).toBeGreaterThanOrEqual(30)
    })
  })
}

const LINKED: Spelling = { name: 'as linked', method: 'POST', write: (path, base) => base + path }

async function handlerFound(setUp: SetUp, path: string, spelling: Spelling) {
  const response = await sendAs(setUp, newTenant(setUp, 'one'), path, spelling)
  return response.status === 200 && response.headers['x-handler'] !== undefined
    ? reportOf(response).handler
    : undefined
}

/** Counts the runs of a handler for a tenant whose limit is 1. */
async function runsOf(setUp: SetUp, path: string, spellings: readonly Spelling[]): Promise<number> {
  const tenant = newTenant(setUp, 'one')
  for (const spelling of spellings) await sendAs(setUp, tenant, path, spelling)
  return tenant.runs()
}

function sendAs(
  setUp: SetUp,
  tenant: ReturnType<typeof newTenant>,
  path: string,
  { method, write }: Spelling,
): Promise<RawResponse> {
  const { basePath, buildId } = setUp
  const linked = canonical(setUp, path).slice(basePath.length)
  return tenant.send({ method, path: write(linked, basePath, buildId) })
}
