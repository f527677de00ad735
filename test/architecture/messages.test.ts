import { globSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

/** Code that looks for something in a message. */
const SEARCH =
  /\bmessage\)?\??\.(?:includes|match|startsWith|endsWith|replace|search|split)\(|\.(?:test|exec)\((?:String\()?[\w.]*\bmessage\b/

/** Files that read the errors of others, or shorten the text of a problem for its reader. */
const OF_OTHERS = [
  'packages/ai/src/call/denial.ts',
  'packages/cli/src/load-limiter.ts',
  'packages/cli/src/run-command.ts',
  'packages/cloudflare/src/durable-object/durable-objects.ts',
  'packages/core/src/limiter/problems.ts',
  'packages/core/src/stores/redis/transport.ts',
  'packages/core/src/stores/upstash/upstash-redis.ts',
  'packages/dashboard/src/react/words.ts',
]

it('no code searches the message of a StoreError: it asks code, word and reason', () => {
  const root = new URL('../../', import.meta.url)
  const files = globSync('packages/*/src/**/*.{ts,tsx}', { cwd: root })
  const searching = files.filter((file) => SEARCH.test(readFileSync(new URL(file, root), 'utf8')))
  expect(searching.toSorted()).toEqual(OF_OTHERS)
})

it('errors of options are made in one way', () => {
  const root = new URL('../../', import.meta.url)
  const files = globSync('packages/*/src/**/*.{ts,tsx}', { cwd: root })
  const made = files.filter((file) =>
    /new ConfigError\(\s*'invalid_option'/.test(readFileSync(new URL(file, root), 'utf8')),
  )
  expect(made).toEqual(['packages/core/src/internal/validation.ts'])
})
