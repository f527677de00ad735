import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { describeTarget } from './describe-target.ts'
import { startNext } from './support/next-app.ts'

describeTarget('next start, limited in edge middleware', startNext)

it('was built with its middleware for the edge runtime', () => {
  const path = new URL('../../apps/demo/.next/server/middleware-manifest.json', import.meta.url)
  const { middleware } = JSON.parse(readFileSync(path, 'utf8')) as {
    middleware: Record<string, { files: string[] }>
  }
  expect(middleware['/']?.files.join()).toContain('server/edge/')
})
