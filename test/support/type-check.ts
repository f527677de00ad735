import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Type-checks files of a folder under strict options, as a user's bundler set-up would; returns what tsc prints. */
export function typeCheck(folder: string, files: readonly string[], globals: string): string {
  writeFileSync(join(folder, 'globals.d.ts'), globals)
  const compilerOptions = {
    strict: true,
    noUncheckedIndexedAccess: true,
    exactOptionalPropertyTypes: true,
    noEmit: true,
    skipLibCheck: true,
    target: 'ES2023',
    module: 'Preserve',
    moduleResolution: 'Bundler',
    allowImportingTsExtensions: true,
    lib: ['ES2023', 'DOM', 'ESNext.Disposable'],
    types: ['node'],
  }
  const project = { compilerOptions, files: [...files, 'globals.d.ts'] }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(project))
  const { stdout, stderr, status } = spawnSync('tsc', ['-p', folder], { encoding: 'utf8' })
  return status === 0 ? '' : stdout + stderr
}

/** The one global that a Worker's types need and plain DOM types lack. */
export const WORKER_GLOBALS =
  'interface ExecutionContext { waitUntil(promise: Promise<unknown>): void }\n'
