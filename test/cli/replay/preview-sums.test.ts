/* A log with a row for each hour: how many calls a change denies is known within bounds. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sharedRedisOverHttp } from '../../support/running-redis.ts'
import { freshPrefix } from '../../support/stores.ts'
import { BUDGET_FILE, limitsFile } from '../limits.ts'
import { envOf, project, removeProjects, type Project } from '../project.ts'

const redis = sharedRedisOverHttp()
afterAll(removeProjects)

/** The limit of the code allows 20 a minute. */
const CONFIGURATION = `
export const configuration = [
  { policy: 'rpm', subject: { tenant: 'acme' }, settings: { limit: 5 } },
  { policy: 'rpm', subject: { tenant: 'free' }, settings: { limit: 0 } },
]
`

const LOG = `start,tenant,route,model,outcome,requests,tokens,usd
2026-11-26T10:00:00.000Z,acme,chat,m,allowed,30,90,60000
2026-11-26T10:00:00.000Z,globex,chat,m,allowed,500,90,60000
2026-11-26T10:00:00.000Z,free,chat,m,allowed,10,50,100000
2026-11-26T11:00:00.000Z,acme,chat,m,allowed,400,9000,4000000
`

let app: Project

beforeAll(() => {
  app = project({
    'src/limits.ts': limitsFile(freshPrefix()) + CONFIGURATION,
    'src/budget.ts': BUDGET_FILE,
    '.env.local': envOf(redis.local),
    'usage.csv': LOG,
  })
})

const preview = async (...args: readonly string[]): Promise<string> => {
  const { out, exitCode } = await app.sluice(['preview', 'usage.csv', ...args])
  expect(exitCode).toBe(0)
  return out
}

describe('sluice preview of a usage export', () => {
  it('says at least and at most how many calls are newly denied, and what they cost', async () => {
    expect((await preview()).split('\n')).toEqual([
      'rpm (tenant=acme): limit as in the code -> 5',
      'rpm (tenant=free): limit as in the code -> 0',
      '',
      'Of 940 calls, 2026-11-26 10:00:03Z to 2026-11-26 11:59:55Z:',
      'Newly denied: at least 10 and at most 435 calls of at most 2 tenants, which cost $0.10 to $4.16.',
      'No longer denied: at least 0 and at most 310 calls.',
      'Spread evenly: 124 calls newly denied ($1.24), 0 denied as now, 0 no longer denied.',
      '',
      'tenant  at least  at most  dollars         by   since',
      'acme           0      425  $0.00 to $4.06  rpm  2026-11-26 10:00Z',
      'free          10       10  $0.10           rpm  2026-11-26 10:00Z',
      '',
      'Likely mistakes:',
      expect.stringMatching(/^- rpm has a limit of 0 for free/),
      '',
      'budget is never full if calls are spread evenly: at most 6 % of it is used.',
      'all is never full if calls are spread evenly: at most 1 % of it is used.',
      '',
      expect.stringMatching(/^A denied call is not sent again/),
      expect.stringMatching(/^The log has sums: "at least" and "at most" hold/),
    ])
  })

  it('has the bounds in JSON', async () => {
    expect(JSON.parse(await preview('--json'))).toMatchObject({
      bounds: {
        newlyDenied: { calls: { least: 10, most: 435 }, usd: { least: 100_000, most: 4_160_000 } },
        nowAllowed: { calls: { least: 0 } },
      },
    })
  })

  it('has the bounds in a comment', async () => {
    const lines = (await preview('--comment')).split('\n')
    expect(lines).toContain('| tenant | at least | at most | dollars | by | since |')
    expect(lines).toContain('| free | 10 | 10 | $0.10 | rpm | 2026-11-26 10:00Z |')
  })
})
