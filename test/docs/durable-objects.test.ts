import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { SignJWT } from 'jose'
import { afterAll, expect, it } from 'vitest'
import { bundleWorker, runWorker } from '../e2e/support/workerd.ts'

const SECRET = 'a secret of at least thirty-two bytes'
const read = (path: string): string =>
  readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
const [, page = ''] = read('docs/without-redis.md').split('\n## Durable Objects')
const blocksIn = (text: string, language: string): string[] =>
  Array.from(
    text.matchAll(new RegExp(`\`\`\`${language}\n([^]*?)\`\`\``, 'g')),
    ([, code = '']) => code,
  )

// Inside the workspace, so that the packages are found as a user's would be.
const folder = mkdtempSync(fileURLToPath(new URL('objects-', import.meta.url)))
afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
})

const [worker = ''] = blocksIn(page, 'ts')
const [config = '{}', migrations = '{}'] = blocksIn(page, 'json')
const declared = JSON.parse(config) as Record<string, unknown>

/** Deploys a Worker as wrangler would, and sends 25 requests of one tenant. */
async function statusesOf(code: string, wrangler: object, headers: HeadersInit) {
  const own = mkdtempSync(join(folder, 'app-'))
  mkdirSync(own, { recursive: true })
  writeFileSync(join(own, 'worker.ts'), code)
  writeFileSync(join(own, 'wrangler.jsonc'), JSON.stringify(wrangler, null, 1))
  const app = await runWorker(await bundleWorker(own), { JWT_SECRET: SECRET })
  try {
    const answers = Array.from({ length: 25 }, () =>
      fetch(`${app.url}/api/ai/chat`, { method: 'POST', headers }),
    )
    const statuses = (await Promise.all(answers)).map(({ status }) => status)
    return {
      allowed: statuses.filter((status) => status === 200).length,
      statuses: new Set(statuses),
    }
  } finally {
    await app.stop()
  }
}

it.each([
  ['as it is', declared],
  ['with migrations', { ...declared, exports: undefined, ...(JSON.parse(migrations) as object) }],
])('the Worker of the page limits a tenant without any Redis, %s', async (_, wrangler) => {
  const token = await new SignJWT({ tenant: 'acme' })
    .setProtectedHeader({ alg: 'HS256' })
    .setExpirationTime('5m')
    .sign(new TextEncoder().encode(SECRET))
  const result = await statusesOf(worker, wrangler, { authorization: `Bearer ${token}` })
  expect(result).toEqual({ allowed: 20, statuses: new Set([200, 429]) })
})
