import { describe, expect, it } from 'vitest'
import { newTenant, type SetUp } from '../support/set-up.ts'

const WAYS: Readonly<Record<string, string>> = {
  'through the middleware': '/api/ai/evaluate',
  'through the middleware, to a dynamic segment': '/api/ai/models/evaluate',
  'through the wrapper': '/api/wrapped/evaluate',
  'through the wrapper, by an alias': '/alias-wrapped',
  'through middleware and wrapper': '/api/both/evaluate',
  'through the wrapper, by an alias around its middleware': '/v1/evaluate',
}

export function describeConcurrency(setUp: () => SetUp): void {
  describe('of 25 requests at once to a limit of 20', () => {
    it.each(Object.entries(WAYS))('5 are denied %s', async (_, path) => {
      const tenant = newTenant(setUp(), 'twenty')
      const answers = await Promise.all(Array.from({ length: 25 }, () => tenant.ask(path)))
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(20)
      expect(answers.filter(({ status }) => status === 429)).toHaveLength(5)
      expect(await tenant.runs()).toBe(20)
    })

    it('5 are denied through the wrapper in an edge function', async () => {
      const tenant = newTenant(setUp(), 'twenty')
      const answers = await Promise.all(
        Array.from({ length: 25 }, () => tenant.ask('/api/wrapped/edge')),
      )
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(20)
      expect(answers.filter(({ status }) => status === 429)).toHaveLength(5)
    })

    // Why there is a wrapper.
    it('none is denied by an alias around middleware that stands alone', async () => {
      const tenant = newTenant(setUp(), 'twenty')
      await Promise.all(Array.from({ length: 25 }, () => tenant.ask('/alias')))
      expect(await tenant.runs()).toBe(25)
    })

    it('5 are denied when half of them take the alias', async () => {
      const tenant = newTenant(setUp(), 'twenty')
      const paths = Array.from({ length: 25 }, (__, index) =>
        index % 2 === 0 ? '/api/both/evaluate' : '/v1/evaluate',
      )
      const answers = await Promise.all(paths.map((path) => tenant.ask(path)))
      expect(answers.filter(({ status }) => status === 429)).toHaveLength(5)
      expect(await tenant.runs()).toBe(20)
    })
  })
}
