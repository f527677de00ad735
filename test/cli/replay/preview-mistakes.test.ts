/* Mistakes that a preview names: those of the limits of the file, and settings of a policy that was renamed. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sharedRedisOverHttp } from '../../support/running-redis.ts'
import { freshPrefix } from '../../support/stores.ts'
import { BUDGET_FILE, limitsFile } from '../limits.ts'
import { envOf, project, removeProjects, type Project } from '../project.ts'

const redis = sharedRedisOverHttp()
afterAll(removeProjects)

const CONFIGURATION = `
export const configuration = [
  { policy: 'rpm', subject: { tenant: 'acme' }, settings: { limit: 0 } },
]
`
const LOG = `time,tenant,route,input,output,cost
2026-11-26T10:00:00Z,acme,chat,10,5,0.01
2026-11-26T10:05:00Z,globex,chat,10,5,0.01
`

const ZERO =
  "rpm has a limit of 0 for acme, which denies all 1 of these calls: write 'unlimited' for no limit, or null for the one of the code."
const RENAMED =
  'The store has settings of rpm, which no policy is named, so they do not apply: name the policy so again, or set them for its new name.'

let app: Project

beforeAll(async () => {
  const limits = limitsFile(freshPrefix())
  app = project({
    'src/limits.ts': limits + CONFIGURATION,
    'src/budget.ts': BUDGET_FILE,
    '.env.local': envOf(redis.local),
    'log.csv': LOG,
  })
  await app.sluice(['set', 'rpm', 'limit=15', '--yes'])
  // As if somebody had renamed the policy after it was set.
  const renamed = limits
    .replace("name: 'rpm'", "name: 'minute'")
    .replace('allow: { rpm:', 'allow: { minute:')
  app.write('src/renamed.ts', `${renamed}\nexport const configuration = []`)
})

const preview = async (...args: readonly string[]): Promise<string> => {
  const { out, exitCode } = await app.sluice(['preview', 'log.csv', ...args])
  expect(exitCode).toBe(0)
  return out
}

describe('the mistakes of a preview', () => {
  it('are sentences of their own', async () => {
    expect(await preview()).toContain(`\n\nLikely mistakes:\n- ${ZERO}\n`)
    expect(JSON.parse(await preview('--json'))).toMatchObject({
      mistakes: [{ policy: 'rpm', text: ZERO }],
    })
    expect((await preview('--comment')).split('\n')).toContain(`- ${ZERO}`)
  })

  it('have settings of a policy that was renamed', async () => {
    expect(await preview('--limits', 'src/renamed.ts')).toContain(`- ${RENAMED}\n`)
  })
})
