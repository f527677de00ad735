import { compileRoutes, createGuard, type GuardOptions } from '@sluice/core/http'
import { describe, expect } from 'vitest'
import { loosely, mistakesAreNamed, type Mistake } from '../../support/mistakes.ts'

const route = (options: unknown): unknown => compileRoutes([options] as never)
const guarded = (options: GuardOptions) => createGuard(() => expect.unreachable(), options)

const ROUTES: Mistake[] = [
  ['no routes', () => compileRoutes([]), 'routes'],
  ['routes that are no list', () => loosely(compileRoutes)('/api'), 'routes'],
  ['a path without a slash', () => compileRoutes(['api']), 'routes[0].path'],
  ['no path', () => route({}), 'routes[0].path'],
  ['null', () => route(null), 'routes[0]'],
  ['an empty id', () => route({ path: '/a', id: '' }), 'routes[0].id'],
  ['no method', () => route({ path: '/a', methods: [] }), 'routes[0].methods'],
  ['a method that is a string', () => route({ path: '/a', methods: 'POST' }), 'routes[0].methods'],
  ['a method that is no string', () => route({ path: '/a', methods: [7] }), 'routes[0].methods'],
  ['a malformed cost', () => route({ path: '/a', cost: -1 }), 'routes[0].cost'],
  [
    'an unknown option',
    () => route({ path: '/a', method: 'GET' }),
    'routes[0].method',
    'unknown_option',
  ],
  ['a pattern that is none', () => compileRoutes(['/a/(']), 'routes[0].path'],
  ['no subject', () => loosely(guarded)({}), 'subject'],
]

describe('a mistake in routes is an error that names the option', () => {
  mistakesAreNamed(ROUTES)
})
