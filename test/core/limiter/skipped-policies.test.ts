import { fixedWindow } from '@sluice/core'
import { expect, it } from 'vitest'
import { collectProblems, setUp } from '../../support/limiters.ts'

/** A limiter with a policy for each user, and the problems that it reports. */
function setUpUsers(per: readonly string[]) {
  const user = fixedWindow({ name: 'user', limit: 1_000, window: '1d', per, onMissing: 'skip' })
  const { problems, listener } = collectProblems()
  const { limiter } = setUp([user], { extensions: [listener] })
  const check = async (times: number, subject: Record<string, string | undefined>) => {
    for (let time = 0; time < times; time += 1) await limiter.check(subject)
  }
  return { problems, check }
}

it('a policy that 20 subjects lack a dimension of is reported, once', async () => {
  const { problems, check } = setUpUsers(['tenant', 'usr'])
  await check(19, { tenant: 'acme', user: 'u_17' })
  expect(problems).toEqual([])
  await check(40, { tenant: 'acme', user: 'u_17' })
  const message = 'policies.user limits nobody: subjects lack tenant,usr; is it misspelt?'
  expect(problems).toEqual([{ code: 'policy_skipped', message }])
})

it('a policy that any subject before has every dimension of is not reported', async () => {
  const { problems, check } = setUpUsers(['user'])
  await check(10, { tenant: 'acme' })
  await check(1, { tenant: 'acme', user: 'u_17' })
  await check(100, { tenant: 'acme' })
  expect(problems).toEqual([])
})

it('a policy that subjects name every dimension of, as undefined, is not reported', async () => {
  const { problems, check } = setUpUsers(['tenant', 'user'])
  await check(100, { tenant: 'acme', user: undefined })
  expect(problems).toEqual([])
})
