import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { compileRoutes, type RouteInput } from '@sluice/core/http'

/** Options of `unprotectedRoutes` and `assertProtected`. */
export interface ProtectionOptions {
  /** The app's `app` folder. */
  readonly appDir: string
  /** Only routes below this path are looked at, such as `/api/ai`. */
  readonly under: string
  /** The `routes` given to `rateLimit`. */
  readonly routes: readonly RouteInput[]
}

/**
 * The route handlers (`route.ts`, `.tsx`, `.js`, `.mjs`) below a path that none of `routes` covers, as
 * paths. For your own tests, on Node.
 */
export function unprotectedRoutes({ appDir, under, routes }: ProtectionOptions): string[] {
  const match = compileRoutes(routes)
  const below = under.replace(/\/$/, '')
  return handlersIn(appDir)
    .filter(({ path }) => path === below || path.startsWith(`${below}/`))
    .filter(({ path, methods }) => methods.some((method) => !match(method, example(path))))
    .map(({ path }) => path)
}

/**
 * Throws, naming them, if there are route handlers below a path that no limiter covers. For your own
 * tests, on Node.
 *
 * @example
 * it('limits every AI route', () => {
 *   assertProtected({ appDir: 'app', under: '/api/ai', routes })
 * })
 */
export function assertProtected(options: ProtectionOptions): void {
  const found = unprotectedRoutes(options)
  if (found.length > 0) throw new Error(`No limiter covers ${found.join(', ')}`)
}

interface Handler {
  readonly path: string
  readonly methods: readonly string[]
}

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']

function handlersIn(folder: string, path = ''): Handler[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const file = join(folder, entry.name)
    if (entry.isFile()) {
      if (!/^route\.(tsx?|m?jsx?)$/.test(entry.name)) return []
      return [{ path: path || '/', methods: exportedMethods(readFileSync(file, 'utf8')) }]
    }
    // A private folder (`_name`) has no routes; a group (`(name)`) and a slot (`@name`) no segment.
    if (!entry.isDirectory() || entry.name.startsWith('_')) return []
    const segment = /^(\(.*\)|@.*)$/.test(entry.name) ? '' : `/${entry.name}`
    return handlersIn(file, path + segment)
  })
}

/** The methods a file names after `export`; all of them where it exports in some other way. */
function exportedMethods(text: string): readonly string[] {
  const exports = Array.from(text.matchAll(/^export\b.*/gm), ([line]) => line).join('\n')
  const found = METHODS.filter((method) => new RegExp(`\\b${method}\\b`).test(exports))
  return found.length > 0 ? found : METHODS
}

/** A path that a folder's pattern serves: `[id]` and `[...rest]` become a segment. */
function example(path: string): string {
  return path.replace(/\[[^/]*\]+/g, 'x')
}
