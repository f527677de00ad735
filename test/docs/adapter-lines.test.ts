import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

/** The file in which each example limits its app, and the most lines that it may have. */
const FILES = [
  ['hono/server.ts', 8],
  ['express/server.ts', 10],
  ['sveltekit/src/hooks.server.ts', 8],
  ['mcp/tools.ts', 12],
] as const

it.each(FILES)('an app is limited by few lines: %s has at most %i', (file, most) => {
  const text = readFileSync(new URL(`../../examples/${file}`, import.meta.url), 'utf8')
  // The limits and the subject are your own files, whatever the framework.
  const lines = text.split('\n').filter((line) => line !== '' && !line.includes("from './"))
  expect(lines.length).toBeGreaterThan(0)
  expect(lines.length).toBeLessThanOrEqual(most)
})
