import { join, resolve } from 'node:path'
import { exportedValue, literal, propertyOf } from '../source/literal.ts'
import type { SourceModule } from '../source/module.ts'
import { patternsOf, runsFor } from '../source/next-matcher.ts'
import { isLimitedFunction } from './limited-function.ts'
import { fileOf, type Project } from './project.ts'

/** Returns the reason for which the middleware does not run `rateLimit` for a path; `undefined` if it does. */
export type GapFinder = (path: string) => string | undefined

/** Reads the project's `middleware` or `proxy` and its `config.matcher`. */
export function middlewareGap(project: Project): GapFinder {
  for (const name of ['proxy', 'middleware']) {
    const path = project.extensions
      .map((extension) => join(project.base, `${name}.${extension}`))
      .find((file) => project.has(file))
    if (path === undefined) continue
    const module = project.module(path)
    const file = fileOf(module)
    const run = exportedValue(module, name) ?? exportedValue(module, 'default')
    if (!run || !isLimitedFunction(run)) {
      return () => `${file} does not return the answer of rateLimit`
    }
    const covers = matcherOf(module)
    return (url) =>
      covers(url) ? undefined : `config.matcher of ${file} does not take every request to it`
  }
  return () => `there is no middleware or proxy in ${join(project.folder, project.base)}`
}

function matcherOf(module: SourceModule): (path: string) => boolean {
  if (!module.exports.has('config')) return () => true
  const config = module.constants.get('config')
  const { node, isCertain } = propertyOf(config ?? module.program, 'matcher')
  if (!node && isCertain) return () => true
  const patterns = node && patternsOf(literal(node))
  if (!patterns?.every(({ source }) => source.startsWith('/'))) {
    throw new Error(`${fileOf(module)}: config.matcher must be a literal, as Next.js requires`)
  }
  // A client chooses what a condition looks at.
  const always = patterns.filter(({ isConditional }) => !isConditional)
  const own = resolve(module.files.folder, 'package.json')
  const covers = runsFor(own, always) ?? runsFor(import.meta.url, always)
  if (!covers) throw new Error('Next.js 15.1 or later must be installed')
  return covers
}
