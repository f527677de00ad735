import { createRequire } from 'node:module'
import { TrieRouter } from 'hono/router/trie-router'
import { addRoute, createRouter, findRoute } from 'rou3'

/** Compiles a pattern as a router does, into a function that says which paths it serves. Throws as it does. */
export type Compile = (pattern: string) => (path: string) => boolean

interface PathToRegexp6 {
  readonly pathToRegexp: (pattern: string) => RegExp
}

interface PathToRegexp8 {
  readonly match: (pattern: string) => (path: string) => unknown
}

interface UrlPattern {
  test(input: { readonly pathname: string }): boolean
}

const require = createRequire(import.meta.url)
const next = require('next/dist/compiled/path-to-regexp') as PathToRegexp6
const routerOfExpress = createRequire(require.resolve('express')).resolve('router')
const express = createRequire(routerOfExpress)('path-to-regexp') as PathToRegexp8
const { URLPattern } = globalThis as unknown as {
  readonly URLPattern?: new (init: { readonly pathname: string }) => UrlPattern
}

/** The routers whose patterns are pasted into `routes`. */
export const ROUTERS: Readonly<Record<string, Compile>> = {
  'Next.js (path-to-regexp 6)': (pattern) => {
    const expression = next.pathToRegexp(pattern)
    return (path) => expression.test(path)
  },
  'Express 5 (path-to-regexp 8)': (pattern) => {
    const match = express.match(pattern)
    return (path) => match(path) !== false
  },
  rou3: (pattern) => {
    const router = createRouter<true>()
    addRoute(router, 'GET', pattern, true)
    return (path) => findRoute(router, 'GET', path) !== undefined
  },
  Hono: (pattern) => {
    // There, all signs after the colon are the parameter's name, also those that no name has.
    if (/:\w+(?![\w/?{-]|$)/.test(pattern)) throw new Error('not a pattern of Hono')
    const router = new TrieRouter<true>()
    router.add('GET', pattern, true)
    return (path) => router.match('GET', path)[0].length > 0
  },
  ...(URLPattern && {
    URLPattern: (pattern) => {
      // There, `**` is `*` once more or not at all.
      if (pattern.includes('**')) throw new Error('not a pattern of URLPattern')
      const compiled = new URLPattern({ pathname: pattern })
      return (pathname) => compiled.test({ pathname })
    },
  }),
}
