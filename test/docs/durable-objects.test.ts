import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { SignJWT } from 'jose'
import { afterAll, expect, it } from 'vitest'
import { bundleWorker, runWorker } from '../e2e/support/workerd.ts'
import { readBlock } from '../support/docs-block.ts'

const SECRET = 'a secret of at least thirty-two bytes'
const read = (path: string): string =>
  readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
const [, page = ''] = read('docs/without-redis.md').split('\n## Durable Objects')
const start = 'start/durable-objects.md'
const [, declared = '{}'] =
  /```jsonc\n\/\/ wrangler.jsonc\n([^]*?)```/.exec(read(`docs/${start}`)) ?? []
/** The two ways to declare the class. */
const [exported = '{}', migrations = '{}'] = Array.from(
  page.matchAll(/```json\n([^]*?)```/g),
  ([, code]) => code,
)
// With the commas that only its format allows.
const wrangler = JSON.parse(declared.replaceAll(/,(?=\s*[}\]])/g, '')) as Record<string, unknown>

// Inside the workspace, so that the packages are found as a user's would be.
const folder = mkdtempSync(fileURLToPath(new URL('objects-', import.meta.url)))
afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
})

/** Deploys a Worker as wrangler would, and sends 25 requests of one tenant. */
async function statusesOf(config: object, headers: HeadersInit) {
  const own = mkdtempSync(join(folder, 'app-'))
  for (const file of ['limits.ts', 'worker.ts']) {
    writeFileSync(join(own, file), readBlock(start, file))
  }
  writeFileSync(join(own, 'wrangler.jsonc'), JSON.stringify(config, null, 1))
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
  ['with migrations', { ...wrangler, ...(JSON.parse(migrations) as object) }],
  ['with exports', { ...wrangler, migrations: undefined, ...(JSON.parse(exported) as object) }],
])(
  'the Worker of the start page limits a tenant without any Redis, declared %s',
  async (_, config) => {
    const token = await new SignJWT({ tenant: 'acme' })
      .setProtectedHeader({ alg: 'HS256' })
      .setExpirationTime('5m')
      .sign(new TextEncoder().encode(SECRET))
    const result = await statusesOf(config, { authorization: `Bearer ${token}` })
    expect(result).toEqual({ allowed: 20, statuses: new Set([200, 429]) })
  },
)
