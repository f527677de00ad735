/* The packages of a project: their versions, and copies. */
import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { findPackage } from '../source/imports.ts'
import { findingsAmong, type Finding } from './finding.ts'

export function judgePackages(folder: string): Finding[] {
  const home = findPackage(folder, '@sluice')
  if (home === undefined) return []
  const names = readdirSync(home)
  const versions = names.flatMap((name) => {
    const version = versionOf(join(home, name))
    return version === undefined ? [] : [[name, version] as const]
  })
  const copies = names.filter((name) =>
    existsSync(join(realpathSync(join(home, name)), 'node_modules', '@sluice', 'core')),
  )
  return findingsAmong<Finding>([
    new Set(versions.map(([, version]) => version)).size > 1 && {
      code: 'versions_differ',
      text: `packages of Sluice have different versions: ${versions.map((each) => each.join(' ')).join(', ')}`,
      remedy: `install one version of all: npm install ${versions.map(([name]) => `@sluice/${name}@latest`).join(' ')}`,
    },
    copies.length > 0 && {
      code: 'two_copies',
      text: `@sluice/core is installed twice: again in ${copies.map((name) => `@sluice/${name}`).join(', ')}`,
      remedy: 'install one version of all packages, then: npm dedupe',
    },
  ])
}

function versionOf(path: string): string | undefined {
  try {
    const manifest: unknown = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8'))
    const { version, private: isPrivate } = manifest as { version?: string; private?: boolean }
    return isPrivate ? undefined : version
  } catch {
    return undefined
  }
}
