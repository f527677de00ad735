import { createLimiter, slidingWindow } from '@sluice/core'
import { choices } from '@sluice/core/choices'
import { objectChoices } from '@sluice/cloudflare/durable-object'
import { describe, expect, it, vi } from 'vitest'
import { durableObjects } from '../../../packages/cloudflare/dist/durable-object/durable-objects.js'
import { ACME } from '../../support/limiters.ts'
import { objectsInProcess } from '../../support/objects.ts'

// Only workerd has this module.
vi.mock('cloudflare:workers', () => ({ DurableObject: Object }))

const MODELS = ['a', 'b', 'c']
const ladder = choices(MODELS.map((model) => ({ subject: { model } })))

/** Decides seven times over three choices of two requests each. */
async function decisionsOf(own: Parameters<typeof objectsInProcess>[0]) {
  const objects = objectsInProcess(own)
  const { namespace } = objects
  let calls = 0
  const counting = {
    ...namespace,
    get(id: unknown) {
      calls += 1
      return namespace.get(id)
    },
  }
  const policies = [
    slidingWindow({ name: 'rpm', limit: 2, window: '1h', per: ['tenant', 'model'] }),
  ]
  const limiter = createLimiter({ store: durableObjects(counting as never), policies })
  const decisions = []
  for (let call = 0; call < 7; call += 1) {
    calls = 0
    const { allowed, choice, tried } = await limiter.check(ACME, { choices: ladder })
    decisions.push({ allowed, choice, tried: tried?.length, calls })
    // As when a machine dies: what is stored is loaded again.
    objects.restart()
  }
  return decisions
}

const FALL = [
  { allowed: true, choice: 0, tried: 1 },
  { allowed: true, choice: 0, tried: 1 },
  { allowed: true, choice: 1, tried: 2 },
  { allowed: true, choice: 1, tried: 2 },
  { allowed: true, choice: 2, tried: 3 },
  { allowed: true, choice: 2, tried: 3 },
  { allowed: false, choice: 0, tried: 3 },
]

describe('an object decides over choices', () => {
  it('in one call, if its class has objectChoices', async () => {
    const made = await decisionsOf({ choices: objectChoices })
    expect(made).toEqual(FALL.map((one) => ({ ...one, calls: 1 })))
  })

  it('in a call for each that is tried, if it has not', async () => {
    const made = await decisionsOf({})
    expect(made).toEqual(FALL.map((one) => Object.assign({ calls: one.tried }, one)))
  })
})
