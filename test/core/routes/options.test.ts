import { compileRoutes, createGuard, type GuardOptions } from '@sluice/core/http'
import { describe, expect } from 'vitest'
import { loosely, mistakesAreNamed, type Mistake } from '../../support/mistakes.ts'

const route = (options: unknown): unknown => compileRoutes([options] as never)
const guarded = (options: GuardOptions) => createGuard(() => expect.unreachable(), options)

const ROUTES: Mistake[] = [
  ['no routes', () => compileRoutes([]), 'routes'],
  ['routes that are no list', () => loosely(compileRoutes)('/api'), 'routes'],
  ['a path without a slash', () => compileRoutes(['api']), 'routes[].path'],
  ['no path', () => route({}), 'routes[].path'],
  ['null', () => route(null), 'routes[]'],
  ['an empty id', () => route({ path: '/a', id: '' }), 'routes[].id'],
  ['no method', () => route({ path: '/a', methods: [] }), 'routes[].methods'],
  ['a method that is a string', () => route({ path: '/a', methods: 'POST' }), 'routes[].methods'],
  ['a method that is no string', () => route({ path: '/a', methods: [7] }), 'routes[].methods'],
  ['a malformed cost', () => route({ path: '/a', cost: -1 }), 'routes[].cost'],
  [
    'an unknown option',
    () => route({ path: '/a', method: 'GET' }),
    'routes[].method',
    'unknown_option',
  ],
  ['a pattern that is none', () => compileRoutes(['/a/(']), 'routes[].path'],
  ['no subject', () => loosely(guarded)({}), 'subject'],
]

describe('a mistake in routes is an error that names the option', () => {
  mistakesAreNamed(ROUTES)
})
