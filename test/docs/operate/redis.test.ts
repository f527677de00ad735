import { reservation, reserve } from '@sluice/core/reservations'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { ACME, createOperator, FREE, variablesOf, type Operator } from '../../cli/operator.ts'
import { instanceOf } from '../../cli/limits.ts'
import { removeProjects } from '../../cli/project.ts'
import { freePort } from '../../e2e/support/ports.ts'
import { failOver, startDatabase, startFromCopy, type Database } from './databases.ts'
import { readPage, runsPage } from './run-page.ts'

const page = readPage('redis')
const SETTINGS = "\nexport const configuration = [{ policy: 'rpm', settings: { limit: 10 } }]\n"
const PREFIX = 'sluice'

const started: Database[] = []
const start = async (database: Promise<Database>): Promise<Database> => {
  started.push(await database)
  return database
}
afterAll(async () => {
  removeProjects()
  for (const one of started) await one.stop()
})

describe.each(['REST', 'TCP'] as const)('over %s', (way) => {
  let operator: Operator
  let database: Database
  beforeAll(async () => {
    database = await start(startDatabase())
    operator = createOperator(database.local, {
      prefix: PREFIX,
      more: SETTINGS,
      way,
      redisUrl: database.redisUrl,
    })
  })
  /** Lets the app and its operator go on with another database. */
  function moveTo(next: Database): void {
    database = next
    operator.app.write('.env.local', variablesOf(next.local, next.redisUrl))
  }

  const charge = (dollars: number, requests = 3) =>
    instanceOf(database.local, PREFIX).check(ACME, {
      cost: { request: requests, usd: dollars * 1_000_000 },
    })

  runsPage(
    page,
    {
      async 'Redis is down or slow'() {
        const url = `http://127.0.0.1:${await freePort()}`
        operator.app.write(
          '.env.local',
          variablesOf({ url, token: database.local.token }, url.replace('http', 'redis')),
        )
      },
      async 'Redis is full'() {
        moveTo(database)
        await database.send('CONFIG', 'SET', 'maxmemory', '1')
      },
      'Redis deletes keys': () => database.send('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru'),
      async 'Redis has failed over'() {
        await charge(1.25)
        const replica = await start(startDatabase())
        await failOver(database, replica)
        await charge(20)
        moveTo(replica)
      },
      async 'Back up'() {
        await database.send('CONFIG', 'SET', 'min-replicas-to-write', '0')
        // The units in the restored copy are charged now, so that their minute is not over.
        await database.send('FLUSHALL')
        await charge(1.25)
      },
      async 'Restore an old copy'() {
        await charge(20)
        moveTo(await start(startFromCopy(join(operator.app.folder, 'backup.rdb'))))
      },
      Verify: async () => {},
    },
    () => ({ app: operator.app, redisUrl: database.redisUrl }),
  )
})

describe.each([
  ['is full', ['CONFIG', 'SET', 'maxmemory', '1'], 'OOM'],
  ['is a replica', ['REPLICAOF', '127.0.0.1', '1'], 'READONLY'],
  ['has no replica', ['CONFIG', 'SET', 'min-replicas-to-write', '1'], 'NOREPLICAS'],
] as const)('a Redis that %s', (_, [name, ...args], says) => {
  it('refuses charges, as the log says, and goes on with denials', async () => {
    const own = await start(startDatabase())
    const limiter = instanceOf(own.local, PREFIX)
    await limiter.check(ACME, { cost: { request: 20, usd: 0 } })
    await own.send(name, ...args)
    const log = vi.spyOn(console, 'error').mockImplementation(() => {})
    const allowed = await limiter.check({ ...ACME, tenant: 'other' }, FREE)
    expect(allowed.degraded).toEqual({ cause: 'store_refused', mode: 'deny' })
    const line = /^Sluice: The store refused the command: OOM .*$/m.exec(page)?.[0]
    expect(log.mock.calls[0]?.[0]).toBe(line?.replace('OOM', says))
    log.mockRestore()
    expect((await limiter.check(ACME, FREE)).violated?.name).toBe('rpm')
  })
})

it('a reservation that a failover has lost is not counted, and `settle` says so', async () => {
  const [primary, replica] = [await start(startDatabase()), await start(startDatabase())]
  await failOver(primary, replica)
  const call = await reserve(instanceOf(primary.local, PREFIX), ACME, { cost: { usd: 1_000 } })
  const moved = instanceOf(replica.local, PREFIX)
  const settled = await reservation(moved, JSON.stringify(call)).settle({ usd: 2_000 })
  expect(settled).toMatchObject({ applied: false, why: 'settled_before' })
  const { policies } = await moved.peek(ACME, FREE)
  expect(policies.map(({ limit, remaining }) => limit - remaining)).toEqual([0, 0, 0, 0])
})
