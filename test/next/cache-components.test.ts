import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { nextBuild, start } from './support/build.ts'

const FILES = {
  'package.json': '{ "private": true, "type": "module" }',
  'next.config.ts': 'export default { cacheComponents: true, partialPrefetching: true }',
  'app/layout.tsx':
    'export default ({ children }: { children: React.ReactNode }) => <html><body>{children}</body></html>',
  'app/page.tsx': 'export default () => <p>Limited</p>',
  'limits.ts': `
    import { createLimiter, slidingWindow } from '@sluice/core'
    import { jwtSubject } from '@sluice/core/jwt'
    import { upstash } from '@sluice/core/upstash'
    export const limiter = createLimiter({
      store: upstash({ timeoutMs: 30_000 }),
      policies: [slidingWindow({ name: 'rpm', limit: 60, window: '1m', per: ['tenant'] })],
    })
    export const subject = jwtSubject({ secret: () => process.env.JWT_SECRET, algorithms: ['HS256'] })`,
  'app/api/wrapped/route.ts': `
    import { withRateLimit } from '@sluice/next'
    import { limiter, subject } from '../../../limits'
    const handle = () => Response.json({})
    export const GET = withRateLimit(handle, { limiter, route: 'wrapped', subject })`,
  'app/api/adapter/route.ts': `
    import { rateLimit } from '@sluice/core/http'
    import { limiter, subject } from '../../../limits'
    export const GET = rateLimit(limiter, { routes: ['/api/**'], subject }, () => Response.json({}))`,
  'app/api/own/route.ts': `
    import { subject } from '../../../limits'
    export const GET = async (request: Request) => {
      const found = await subject(request)
      return Response.json({}, { status: found === null ? 401 : 200 })
    }`,
} as const

it('GET handlers are built without the secret of their JWTs, and refuse who has none', async () => {
  const folder = fileURLToPath(new URL('dist/cache components', import.meta.url))
  rmSync(folder, { recursive: true, force: true })
  for (const [path, code] of Object.entries(FILES)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), code)
  }
  await nextBuild(folder)
  const app = await start({ folder }, { JWT_SECRET: 'a secret of at least thirty-two bytes' })
  try {
    const paths = ['wrapped', 'adapter', 'own']
    const answers = await Promise.all(paths.map((path) => fetch(`${app.url}/api/${path}`)))
    expect(answers.map(({ status }) => status)).toEqual([401, 401, 401])
  } finally {
    await app.stop()
  }
}, 120_000)
