/* The order of a queue beside an oracle that shares no code with it: start-time fair queuing, by a list that is searched. */
import { createLimiter, dailyCap, slidingWindow, type Store } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { limitedQueue, work } from '@sluice/queue'
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { sharedRedis } from '../../support/running-redis.ts'

const shared = sharedRedis()
const STORES: Record<string, () => Store> = { memory, redis: () => shared.store() }

const WEIGHTS = [1, 2, 4, 0.5]

interface Added {
  readonly tenant: number
  readonly size: number
  readonly priority: number
}

/** Jobs that are there at the beginning, and those that each job adds when it runs. */
interface World {
  readonly first: readonly Added[]
  readonly later: readonly (readonly Added[])[]
  /** The tokens that a tenant may use in all: then its other jobs wait for tomorrow. */
  readonly cap: number
}

const added = fc.record({
  tenant: fc.nat(3),
  size: fc.integer({ min: 1, max: 9 }),
  priority: fc.constantFrom(1, 5, 5, 9),
})
const world: fc.Arbitrary<World> = fc.record({
  first: fc.array(added, { minLength: 4, maxLength: 30 }),
  later: fc.array(fc.array(added, { maxLength: 3 }), { maxLength: 20 }),
  cap: fc.integer({ min: 10, max: 60 }),
})

/** Returns the jobs in the order in which they run, by the number with which they were added. */
function oracle({ first, later, cap }: World): number[] {
  const waiting: (Added & { readonly number: number })[] = []
  const tags = [0, 0, 0, 0]
  const used = [0, 0, 0, 0]
  const blocked = new Set<number>()
  const ran: number[] = []
  let virtualTime = 0
  let count = 0
  const add = (jobs: readonly Added[]): void => {
    for (const job of jobs) {
      // A flow that comes back has saved up nothing.
      const isNew = !waiting.some(({ tenant }) => tenant === job.tenant)
      if (isNew) tags[job.tenant] = Math.max(tags[job.tenant] as number, virtualTime)
      waiting.push({ ...job, number: count })
      count += 1
    }
  }
  add(first)
  for (;;) {
    const next = waiting
      .filter(({ tenant }) => !blocked.has(tenant))
      .toSorted(
        (a, b) =>
          (tags[a.tenant] as number) - (tags[b.tenant] as number) ||
          a.tenant - b.tenant ||
          a.priority - b.priority ||
          a.number - b.number,
      )[0]
    if (!next) return ran
    const { tenant, size, number } = next
    virtualTime = Math.max(virtualTime, tags[tenant] as number)
    if ((used[tenant] as number) + size > cap) {
      blocked.add(tenant)
      continue
    }
    waiting.splice(waiting.indexOf(next), 1)
    used[tenant] = (used[tenant] as number) + size
    tags[tenant] =
      (tags[tenant] as number) + Math.ceil((size * 1_000) / (WEIGHTS[tenant] as number))
    add(later[ran.length] ?? [])
    ran.push(number)
  }
}

async function run(store: Store, { first, later, cap }: World): Promise<number[]> {
  const limiter = createLimiter({
    store,
    policies: [
      dailyCap({ name: 'daily', limit: cap, per: ['tenant'], unit: 'token' }),
      slidingWindow({ name: 'rpm', limit: 1_000, window: '1m', per: 'global' }),
    ],
  })
  const queue = limitedQueue(limiter, {
    name: 'q',
    parse: (data) => data as number,
    measure: 'token',
    weight: ({ tenant }) => WEIGHTS[Number(tenant?.slice(1))] as number,
  })
  let count = 0
  const add = async (jobs: readonly Added[]): Promise<void> => {
    const given = jobs.map(({ tenant, size, priority }, at) => ({
      data: count + at,
      subject: { tenant: `t${tenant}` },
      cost: { token: size },
      priority,
    }))
    count += jobs.length
    await queue.addAll(given)
  }
  const ran: number[] = []
  await add(first)
  const handle = async ({ data }: { readonly data: number }): Promise<void> => {
    await add(later[ran.length] ?? [])
    ran.push(data)
  }
  await work(queue, handle, { concurrency: 1, untilIdle: true }).ended
  return ran
}

it.each(Object.entries(STORES))(
  'jobs run in the order of an oracle, by weight and size, in %s',
  { timeout: 240_000 },
  async (_, store) => {
    let blocked = 0
    const worlds = fc.asyncProperty(world, async (one) => {
      const order = oracle(one)
      if (order.length < one.first.length) blocked += 1
      expect(await run(store(), one)).toEqual(order)
    })
    await fc.assert(worlds, { numRuns: 100 })
    expect(blocked).toBeGreaterThan(5)
  },
)
