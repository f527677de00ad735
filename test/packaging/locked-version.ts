import { readFileSync } from 'node:fs'

const LOCK = new URL('../../package-lock.json', import.meta.url)

/** Returns the version of a package that the lock file has. */
export function lockedVersion(name: string): string {
  const { packages } = JSON.parse(readFileSync(LOCK, 'utf8')) as {
    packages: Record<string, { version: string }>
  }
  return packages[`node_modules/${name}`]?.version ?? 'latest'
}
