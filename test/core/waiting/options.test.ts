import {
  createLimiter,
  definePlans,
  fixedWindow,
  slidingWindow,
  type Limiter,
  type Policy,
} from '@sluice/core'
import { lease } from '@sluice/core/leases'
import { memory } from '@sluice/core/memory'
import { waitFor, waiting, waitingLine, type WaitingLineOptions } from '@sluice/core/waiting'
import { describe, expect, it } from 'vitest'
import { KINDS } from '../../support/kinds.ts'
import { refusal } from '../policies/fair-share/refusal.ts'
import { LINED, UNLINED } from './lined.ts'

const rpm = slidingWindow({ name: 'rpm', limit: 100, window: '1m', per: ['tenant'] })

const lineOf = (policy: unknown, options: object = {}) =>
  refusal(() => waitingLine(policy as Policy, options as WaitingLineOptions))

describe('waitingLine', () => {
  it.each(LINED)('takes a %s', (kind) => {
    const policy = waitingLine(KINDS[kind]('p', 5))
    expect(() => createLimiter({ store: memory(), policies: [policy] })).not.toThrow()
  })

  it.each<readonly [string, unknown]>([
    ['no policy', {}],
    ...UNLINED.map((kind) => [`a policy of ${kind}`, KINDS[kind]('p', 5)] as const),
    ['a lease', lease(slidingWindow({ name: 'p', limit: 5, window: '1m', per: 'global' }))],
    ['stripes', slidingWindow({ name: 'p', limit: 5, window: '1m', per: 'global', stripes: 2 })],
    [
      'a name too long',
      slidingWindow({ name: 'n'.repeat(60), limit: 5, window: '1m', per: 'global' }),
    ],
  ])('refuses %s', (_, policy) => {
    expect(lineOf(policy)[0]).toBe('waitingLine.policy')
  })

  it('says what to use for calls in flight', () => {
    expect(lineOf(KINDS['calls in flight']('p', 5))[1]).toContain('use a queue')
  })

  it.each<readonly [string, object, string]>([
    ['an empty list', { between: [] }, 'waitingLine.between'],
    ['a place for nobody', { maxWaiting: 0 }, 'waitingLine.maxWaiting'],
    ['more than 500', { maxWaiting: 501 }, 'waitingLine.maxWaiting'],
    ['an unknown option', { most: 1 }, 'waitingLine.most'],
  ])('refuses %s', (_, options, option) => {
    expect(lineOf(rpm, options)[0]).toBe(option)
  })

  it('keeps the types of its policy', async () => {
    const plans = definePlans({ free: { rpm: 1 }, pro: { rpm: 4 } })
    createLimiter({
      store: memory(),
      plans,
      policies: [
        waitingLine(
          fixedWindow({ name: 'p', limit: ({ plan }) => plan.rpm, window: '1m', per: ['tenant'] }),
        ),
      ],
    })
    const limiter = createLimiter({
      store: memory(),
      policies: [waitingLine(rpm, { between: ['user'] })],
    })
    // @ts-expect-error -- the line takes turns by user
    await expect(limiter.check({ tenant: 'acme', usr: 'u' })).rejects.toThrow('user')
  })
})

describe('waitFor and waiting', () => {
  const limiter = createLimiter({ store: memory(), policies: [waitingLine(rpm)] })

  it.each([0, 500, '500ms', '6m', 'soon'])('refuse a wait of %s', (wait) => {
    expect(refusal(() => waitFor(limiter, wait as '1s'))[0]).toBe('waitFor.wait')
    expect(refusal(() => waiting(wait as '1s'))[0]).toBe('waiting.wait')
  })

  it('refuse a limiter without a line', () => {
    const plain = createLimiter({ store: memory(), policies: [rpm] }) as unknown as Limiter
    const [option, message] = refusal(() => waitFor(plain, '1s'))
    expect(option).toBe('waitFor.limiter')
    expect(message).toContain('waitingLine(')
  })

  it.each<readonly [string, object, string]>([
    ['a signal that is none', { signal: true }, 'waitFor.signal'],
    ['a listener that is none', { onWaited: 1 }, 'waitFor.onWaited'],
    ['an unknown option', { most: 1 }, 'waitFor.most'],
  ])('refuse %s', (_, options, option) => {
    expect(refusal(() => waitFor(limiter, '1s', options))[0]).toBe(option)
  })

  it('refuse a cost that is none', () => {
    expect(refusal(() => waiting('1s', -1))[0]).toBe('waiting.cost')
    expect(refusal(() => waiting('1s', 1, { most: 1 } as object))[0]).toBe('waiting.most')
  })
})
