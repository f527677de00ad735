import { compileRoutes } from '@sluice/core/http'
import { describe, expect, it } from 'vitest'
import { PARAMETER_SPELLINGS, ROUTES, SPELLINGS, urlOf } from '../../support/spellings.ts'

const routeOf = (match: ReturnType<typeof compileRoutes>, target: string): string | undefined =>
  match('POST', new URL(new Request(urlOf(target)).url).pathname)?.id

describe('the path of a route', () => {
  const match = compileRoutes(ROUTES)

  it.each(SPELLINGS)('$name counts as $route', ({ write, route }) => {
    expect(routeOf(match, write('/api/ai/evaluate'))).toBe(route)
  })

  it('has a hundred spellings, each of them once', () => {
    expect(SPELLINGS.length).toBeGreaterThanOrEqual(100)
    const targets = SPELLINGS.map(({ write }) => write('/api/ai/evaluate'))
    expect(new Set(targets).size).toBe(targets.length)
  })
})

it.each(PARAMETER_SPELLINGS)('%s counts as the route of its parameter', (target) => {
  const match = compileRoutes(['/api/models/:model', '/api/**'])
  expect(routeOf(match, target)).toBe('/api/models/:model')
})
