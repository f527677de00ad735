/* Secrets that stand where a command expects something else: what is printed is kept in logs. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { project, removeProjects, type Project } from './project.ts'

const SECRET = `sk_${'Ab3-_x9'.repeat(6)}Q`

let app: Project
beforeAll(() => {
  app = project({
    'limits.mjs': `
import { createLimiter, slidingWindow } from '@sluice/core'
import { memory } from '@sluice/core/memory'
const rpm = slidingWindow({ name: 'rpm', limit: 20, window: '1m', per: ['tenant'] })
export const limiter = createLimiter({ store: memory(), policies: [rpm] })
`,
    '.env.local': `UPSTASH_REDIS_REST_TOKEN=${SECRET}\n`,
  })
})
afterAll(removeProjects)

const LINES: readonly (readonly string[])[] = [
  ['keys', 'revoke', SECRET],
  ['keys', 'revoke', SECRET, '--yes'],
  ['keys', 'rotate', SECRET],
  ['keys', 'rotate', SECRET, '--yes'],
  ['keys', 'expire', SECRET, '--in', '1h'],
  ['keys', 'expire', SECRET, '--in', '0', '--yes'],
  ['keys', 'revoke', 'key_0123456789abcdef', SECRET],
  ['keys', 'list', SECRET],
  ['keys', 'create', SECRET, '--tenant', 'acme'],
  ['keys', 'create', '--tenant', 'acme', '--prefix', SECRET, '--yes'],
  ['keys', SECRET],
  [SECRET],
  ['help', SECRET],
  ['show', SECRET],
  ['log', SECRET],
  ['usage', SECRET],
  ['local', SECRET],
  ['local', '--token', `${SECRET} x`],
  ['local', '--port', SECRET],
  ['local', '--redis', `redis://user:${SECRET}@127.0.0.1:1`],
  ['local', '--redis', `https://user:${SECRET}@127.0.0.1`],
  ['local', '--redis', SECRET],
  ['dev', SECRET],
  ['dev', 'node', SECRET],
  ['token', SECRET],
  ['token', '--tenant', 'acme', '--variable', SECRET],
  ['token', '--claim', SECRET],
  ['mcp', SECRET],
]

const TITLED = LINES.map((line) => [line.join(' ').replaceAll(SECRET, 'SECRET'), line] as const)

describe('a secret in the wrong place', () => {
  it.each(TITLED)('is not repeated: sluice %s', async (_, args) => {
    for (const all of [args, [...args, '--json']]) {
      const { out, err, exitCode } = await app.sluice(all)
      expect({ exitCode, text: out + err }).toEqual({
        exitCode: 1,
        text: expect.not.stringContaining(SECRET),
      })
      expect(err).toMatch(/^sluice: \S.{10,}/)
    }
  })

  it('is taken for a key, and its name asked for, only where a name is expected', async () => {
    expect((await app.sluice(['keys', 'revoke', SECRET])).err).toBe(
      'sluice: sluice keys revoke needs the name of a key, such as key_0123456789abcdef, and no other text. List them: sluice keys --tenant NAME',
    )
  })
})
