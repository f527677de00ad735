import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, it } from 'vitest'
import { typeCheck, WORKER_GLOBALS } from '../support/type-check.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const folder = mkdtempSync(fileURLToPath(new URL('readme-', import.meta.url)))

/** Names that a page may use without importing them. */
const GLOBALS = `
type Core = typeof import('@sluice/core')
declare const createLimiter: Core['createLimiter'], slidingWindow: Core['slidingWindow']
declare const dailyCap: Core['dailyCap'], definePlans: Core['definePlans']
declare const upstash: typeof import('@sluice/core/upstash').upstash
declare const rateLimit: typeof import('@sluice/next').rateLimit
declare const limiter: import('@sluice/core').Limiter, store: import('@sluice/core').Store
declare const policies: import('@sluice/core').Policy[]
declare const eu1: typeof store, eu2: typeof store, eu3: typeof store
declare const tenantFromJwt: import('@sluice/core/http').SubjectResolver
declare const callModel: (options?: object) => Promise<{ text: string; usage: { total_tokens: number } }>
declare const handle: (request: Request) => Response
declare const summaries: import('@sluice/queue').LimitedQueue
declare const summarise: (data: unknown, signal?: AbortSignal) => Promise<{
  usage: { total_tokens: number }; tokens: number; isUnreadable: boolean; isCutOff: boolean
}>
declare const connection: { host: string }
declare const OPENAI: object, ANTHROPIC: object
declare module '@react-router/dev/routes' {
  export type RouteConfig = { path: string }[]
  export function route(path: string, file: string, children?: RouteConfig): { path: string }
}
declare module '$env/dynamic/private' { export const env: Record<string, string | undefined> }
declare module 'cloudflare:workers' {
  export const env: Record<string, any>
  export abstract class DurableObject { protected readonly ctx: any }
}
declare type DurableObjectNamespace<T> = any
declare module '*/schema' {
  export const pointsOf: (query: string, variables?: object) => number
  export const serve: (request: Request) => Promise<Response>
  export const tenantOf: import('@sluice/core/http').SubjectResolver
}
declare module '*/users' { export const isRight: (email: string, password: string) => Promise<boolean> }
declare module '*/app' {
  export const app: (request: Request) => Promise<Response>
  export const tenantOf: (session?: string) => Promise<string | undefined>
  export const summarise: (text: string) => Promise<string>
}
declare module '*/auth' { export const tenantFromJwt: import('@sluice/core/http').SubjectResolver }
declare module '@auth/core/jwt' {
  export function getToken(options: { req: Request; secret: string; secureCookie: boolean }): Promise<{ [claim: string]: unknown } | null>
}
declare module '*/limits' {
  export const model: import('@sluice/core/upstream').AdaptiveLimit
  export const limiter: import('@sluice/core').Limiter
  export const limiterFor: (env: object) => import('@sluice/core').Limiter
}`

afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
})

/** The pages of apps that a bundler builds: it finds a file without its ending, and by default TypeScript refuses one. */
const BUNDLED =
  /^docs\/(?:start\/(?:nextjs|react-router|cloudflare|durable-objects)|recipes\/server-actions|reservations|queue|without-redis)\.md$|^packages\/(?:next|cloudflare)\//

it("a page imports the reader's files as Node.js finds them, unless a bundler does", () => {
  const pages = globSync(['README.md', 'docs/**/*.md', 'packages/*/README.md'], { cwd: root })
  const unfound = pages
    .filter((page) => !BUNDLED.test(page))
    .flatMap((page) =>
      Array.from(
        readFileSync(join(root, page), 'utf8').matchAll(/^import .* from '\.{1,2}\/[\w/-]+'$/gm),
        ([line]) => `${page}: ${line}`,
      ),
    )
  expect(unfound).toEqual([])
})

it('every TypeScript block of the docs and package READMEs type-checks', () => {
  const files: string[] = []
  for (const page of globSync(
    ['docs/**/*.md', 'packages/*/README.md', 'test/docs/coming-from/pairs.md'],
    { cwd: root },
  )) {
    // Their blocks have tests of their own: files that import each other, and mistakes.
    if (['docs/extending.md', 'docs/troubleshooting.md'].includes(page)) continue
    const text = readFileSync(join(root, page), 'utf8')
    // The pages to start with and the recipes show whole files, which import each other.
    const isWhole = /^docs\/(start|recipes)\//.test(page)
    const name = page.replaceAll(/\W/g, '-')
    for (const [index, [, code = '']] of Array.from(
      text.matchAll(/```ts\n([\s\S]*?)```/g),
    ).entries()) {
      const [, path] = (isWhole && /^\/\/ (\S+)\n/.exec(code)) || []
      const file = path === undefined ? `${name}-${index}.ts` : `${name}/${path}`
      mkdirSync(dirname(join(folder, file)), { recursive: true })
      // `./auth` and `./limits` are the reader's own files, if the page does not show them.
      const own = code.replaceAll(
        /'(?:\.\.?\/)+(auth|limits|schema|users|app)(?:\.ts)?'/g,
        (theirs, module) =>
          isWhole && text.includes(`// ${module}.ts\n`) ? theirs : `'app/${module}'`,
      )
      writeFileSync(join(folder, file), `${own}\nexport {}\n`)
      files.push(file)
    }
  }
  expect(files.length).toBeGreaterThan(8)
  expect(typeCheck(folder, files, WORKER_GLOBALS + GLOBALS)).toBe('')
})
