import { setTimeout as delay } from 'node:timers/promises'
import {
  createLimiter,
  fixedWindow,
  listen,
  slidingWindow,
  type Decision,
  type Limiter,
} from '@sluice/core'
import { batched } from '@sluice/core/batched'
import { lease, leased } from '@sluice/core/leases'
import { redis } from '@sluice/core/redis'
import { reserve } from '@sluice/core/reservations'
import { createCluster } from 'redis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { slotOf, startRedisCluster, type RedisCluster } from '../../support/redis-cluster.ts'
import { freshPrefix } from '../../support/stores.ts'
import { connectCluster, TCP_CLIENT_NAMES, type TcpClient } from '../../support/tcp-clients.ts'

const RPM = slidingWindow({ name: 'rpm', limit: 20, window: '1m', per: ['tenant', 'user'] })
const MANY = fixedWindow({ name: 'many', limit: 400, window: '1h', per: ['tenant'] })

const isAllowed = ({ allowed, degraded }: Decision): boolean => allowed && !degraded

/** Checks until `isOver`, a few at a time, and returns the decisions. */
async function checkUntil(
  limiter: Limiter,
  tenant: string,
  isOver: () => boolean,
): Promise<Decision[]> {
  const decisions: Decision[] = []
  const caller = async (): Promise<void> => {
    while (!isOver()) {
      decisions.push(await limiter.check({ tenant }))
      await delay(2)
    }
  }
  await Promise.all([caller(), caller(), caller()])
  return decisions
}

describe.each(TCP_CLIENT_NAMES)('a Redis Cluster, by %s', (name) => {
  let cluster: RedisCluster
  let connection: TcpClient
  beforeAll(async () => {
    cluster = await startRedisCluster({ replicas: 1 })
    const ports = cluster.nodes.map(({ port }) => port)
    connection = await connectCluster(name, ports)
  })
  afterAll(async () => {
    connection.close()
    await cluster.stop()
  })

  const prefix = freshPrefix()
  const slotOfTenant = (tenant: string): number => slotOf(`${prefix}:{tenant=${tenant}}:`)
  const setUp = (policies: Parameters<typeof createLimiter>[0]['policies'], timeoutMs = 30_000) =>
    createLimiter({
      store: redis({ client: connection.client, prefix, timeoutMs }),
      policies,
      onStoreError: 'deny',
    })

  it('lets in as many as the limit at once, of each tenant, whichever node it is on', async () => {
    const limiter = setUp([RPM, MANY])
    for (const tenant of ['a', 'b', 'c', 'd', 'e']) {
      const checks = Array.from({ length: 25 }, () => limiter.check({ tenant, user: 'u' }))
      const decisions = await Promise.all(checks)
      expect(decisions.filter(isAllowed)).toHaveLength(20)
      expect(decisions[0]?.place).toBe(`tenant=${tenant}`)
    }
  })

  it('shares a call between decisions about one tenant, and none between tenants', async () => {
    const limiter = createLimiter({
      store: batched(redis({ client: connection.client, prefix, timeoutMs: 30_000 })),
      policies: [RPM],
      onStoreError: 'deny',
    })
    const tenants = ['one', 'two', 'three']
    const checks = tenants.flatMap((tenant) =>
      Array.from({ length: 25 }, () => limiter.check({ tenant, user: 'u' })),
    )
    const decisions = await Promise.all(checks)
    for (const tenant of tenants) {
      const own = decisions.filter(({ place }) => place === `tenant=${tenant}`)
      expect(own.filter(isAllowed)).toHaveLength(20)
    }
  })

  it('is not leased from outside, however many ask at once', async () => {
    const store = batched(redis({ client: connection.client, prefix, timeoutMs: 30_000 }))
    const limiter = createLimiter({ store: leased(store), policies: [lease(MANY)] })
    const checks = Array.from({ length: 25 }, () => limiter.check({ tenant: 'leased' }))
    const outcomes = await Promise.allSettled(checks)
    expect(outcomes.map(({ status }) => status)).toEqual(checks.map(() => 'rejected'))
  })

  it('counts on while a slot moves, and follows it', async () => {
    const limiter = setUp([MANY])
    const before = await cluster.masterOf(slotOfTenant('moving'))
    let isOver = false
    const checking = checkUntil(limiter, 'moving', () => isOver)
    await delay(50)
    await cluster.moveSlot(slotOfTenant('moving'))
    await delay(50)
    await cluster.moveSlot(slotOfTenant('moving'))
    isOver = true
    const decisions = await checking
    expect(decisions.filter(({ degraded }) => degraded)).toEqual([])
    expect(await cluster.masterOf(slotOfTenant('moving'))).not.toBe(before)
    const { policies } = await limiter.peek({ tenant: 'moving' })
    expect(policies[0]?.remaining).toBe(400 - decisions.filter(isAllowed).length)
  })

  it('asks the node that has the keys already', async () => {
    const limiter = setUp([MANY])
    await limiter.check({ tenant: 'asked' })
    const move = await cluster.beginMove(slotOfTenant('asked'))
    await move.moveKeys()
    const decision = await limiter.check({ tenant: 'asked' })
    expect(decision).toMatchObject({ allowed: true, policies: [{ remaining: 398 }] })
    expect(decision.degraded).toBeUndefined()
    await move.end()
  })

  it('repeats what a moving slot cannot do, until its deadline at the latest', async () => {
    const limiter = setUp([MANY])
    await limiter.check({ tenant: 'again' })
    const move = await cluster.beginMove(slotOfTenant('again'))
    // Its mark is a fresh key, which neither node may write beside the others.
    const hasty = await reserve(setUp([MANY], 200), { tenant: 'again' })
    expect(hasty).toMatchObject({ allowed: false, degraded: { cause: 'store_timeout' } })
    const patient = reserve(limiter, { tenant: 'again' })
    await delay(50)
    await move.end()
    const reservation = await patient
    expect(reservation).toMatchObject({ allowed: true, policies: [{ remaining: 398 }] })
    if (reservation.allowed) await reservation.settle(0)
    const { policies } = await limiter.peek({ tenant: 'again' })
    expect(policies[0]?.remaining).toBe(399)
  })

  it('goes on with the replica of a master that has died', async () => {
    const limiter = setUp([MANY], 1_000)
    const slot = slotOfTenant('orphan')
    expect(isAllowed(await limiter.check({ tenant: 'orphan' }))).toBe(true)
    const { failedOver } = await cluster.killMasterOf(slot)
    const meanwhile = await limiter.check({ tenant: 'orphan' })
    expect(meanwhile.degraded?.cause).toMatch(/^store_/)
    expect(meanwhile.place).toBe('tenant=orphan')
    await failedOver
    let decision = meanwhile
    for (let left = 200; decision.degraded && left > 0; left -= 1) {
      await delay(50)
      decision = await limiter.check({ tenant: 'orphan' })
    }
    expect(decision.degraded).toBeUndefined()
    expect(decision.allowed).toBe(true)
  })
})

it('connects to the nodes of a node-redis cluster that leaves them until they are needed', async () => {
  await using cluster = await startRedisCluster()
  const rootNodes = cluster.nodes.map(({ port }) => ({ url: `redis://127.0.0.1:${port}` }))
  const client = createCluster({ rootNodes, minimizeConnections: true })
  client.on('error', () => {})
  await client.connect()
  const store = redis({ client, timeoutMs: 30_000 })
  const limiter = createLimiter({ store, policies: [RPM], onStoreError: 'deny' })
  for (const tenant of ['a', 'b', 'c', 'd', 'e', 'f']) {
    expect(isAllowed(await limiter.check({ tenant, user: 'u' }))).toBe(true)
  }
  client.destroy()
})

it('says that the store is back only when the failed part is', async () => {
  await using cluster = await startRedisCluster()
  const ports = cluster.nodes.map(({ port }) => port)
  const { client, close } = await connectCluster('ioredis 5', ports)
  const problems: string[] = []
  const limiter = createLimiter({
    store: redis({ client, timeoutMs: 10_000 }),
    policies: [MANY],
    onStoreError: 'deny',
    extensions: [listen({ problem: ({ code }) => problems.push(code) })],
  })
  const tenants = Array.from({ length: 12 }, (_, index) => `t${index}`)
  const degraded = async (): Promise<number> => {
    const decisions = await Promise.all(tenants.map((tenant) => limiter.check({ tenant })))
    return decisions.filter((decision) => decision.degraded).length
  }
  expect(await degraded()).toBe(0)
  await cluster.killMasterOf(slotOf('sluice:{tenant=t0}:'))
  for (let round = 0; round < 5; round += 1) {
    const count = await degraded()
    expect(count).toBeGreaterThan(0)
    expect(count).toBeLessThan(tenants.length)
  }
  expect(problems).not.toContain('store_recovered')
  close()
})
