import { globSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

interface Manifest {
  readonly name: string
  readonly version: string
  readonly description?: string
  readonly keywords?: readonly string[]
  readonly license?: string
  readonly type?: string
  readonly sideEffects?: boolean
  readonly private?: boolean
  readonly files?: readonly string[]
  readonly engines?: { readonly node?: string }
  readonly publishConfig?: object
  readonly exports: Readonly<Record<string, Readonly<Record<string, string>>>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>
  readonly bin?: Readonly<Record<string, string>>
}

export const isOurs = (name: string): boolean => name.startsWith('@sluice/')

const packages = fileURLToPath(new URL('../../packages', import.meta.url))

/** All that is published. A new folder in packages/ is held to the same from its first day. */
export const PUBLIC_PACKAGES: readonly { name: string; cwd: string; manifest: Manifest }[] =
  globSync('*/package.json', { cwd: packages })
    .toSorted()
    .map((path) => {
      const manifest = JSON.parse(readFileSync(join(packages, path), 'utf8')) as Manifest
      return { name: basename(dirname(path)), cwd: join(packages, dirname(path)), manifest }
    })
    .filter(({ manifest }) => manifest.private !== true)
