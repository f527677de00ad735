import { spawnSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { PUBLIC_PACKAGES } from './public-packages.ts'

const PAGES = ['CHANGELOG.md', 'LICENSE', 'README.md', 'package.json']

/** Error messages and alerts name sections of a page; users import the dashboard and the alerts. */
const OWN_PAGES: Readonly<Record<string, readonly string[]>> = {
  '@sluice/cli': ['docs/README.md', 'docs/policies.md'],
  '@sluice/core': ['docs/errors.md'],
  '@sluice/otel': ['docs/operate/alerts.md', 'grafana/sluice.json', 'prometheus/alerts.yml'],
}

describe.each(PUBLIC_PACKAGES)('publishing $manifest.name', ({ cwd, manifest }) => {
  const pages = [...PAGES, ...(OWN_PAGES[manifest.name] ?? [])]
  const { access, files } = dryRun(cwd, manifest.name)

  it('makes it public, which a scoped package is not by itself', () => {
    expect(access).toBe('public')
  })

  it('ships its pages, and every file that its package.json names', () => {
    const entries = Object.values(manifest.exports).flatMap((targets) => Object.values(targets))
    const named = [...entries, ...Object.values(manifest.bin ?? {})]
    expect(files).toEqual(
      expect.arrayContaining(pages.concat(named.map((path) => path.replace('./', '')))),
    )
  })

  it('ships JavaScript and types beside its pages, and no source, source map or test', () => {
    // The command tells an agent what the documentation says.
    const isDocumentation = manifest.name === '@sluice/cli' ? /^docs\/[\w/-]+\.md$/ : /^$/
    const others = files.filter((path) => !pages.includes(path) && !isDocumentation.test(path))
    const expected = /^(bin\/[\w-]+\.js|dist\/[\w/-]+\.(js|d\.ts))$/
    expect(others.filter((path) => !expected.test(path))).toEqual([])
  })
})

function dryRun(cwd: string, name: string): { access: string | undefined; files: string[] } {
  // `--force` leaves out the question which versions the registry has: the one request of a dry run.
  const args = ['publish', '--dry-run', '--json', '--force', '--ignore-scripts']
  const { status, stdout, stderr } = spawnSync('npm', args, { cwd, encoding: 'utf8' })
  if (status !== 0) throw new Error(stderr)
  const packed = JSON.parse(stdout) as Record<string, { files: { path: string }[] }>
  return {
    access: /with tag latest and (\w+) access \(dry-run\)/.exec(stderr)?.[1],
    files: packed[name]?.files.map(({ path }) => path) ?? [],
  }
}
