import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { run } from './processes.mjs'

const page = readFileSync(new URL('../../docs/performance.md', import.meta.url), 'utf8')

/** Installs what the page compares, and checks its packages and megabytes. */
export async function tryInstalled(folder, _, { env }) {
  const results = []
  for (const [, names, packages, megabytes] of page.matchAll(
    /^\| npm install ([^|]+?) +\| (\d+) +\| (\d\.\d) +\|$/gm,
  )) {
    writeFileSync(join(folder, 'package.json'), '{}')
    await run(folder, `npm install --no-fund --no-audit --prefer-offline ${names}`, env)
    const files = readdirSync(join(folder, 'node_modules'), { recursive: true }).map(String)
    const found = files.filter((path) => /^(?:@[^/]+\/)?[^/]+\/package\.json$/.test(path)).length
    const bytes = files.reduce((sum, path) => sum + sizeOf(join(folder, 'node_modules', path)), 0)
    const mb = (bytes / 1_000_000).toFixed(1)
    // A megabyte more or less a tenth.
    const isAsStated = found === Number(packages) && Math.abs(mb - megabytes) < 0.15
    const error = isAsStated ? undefined : `${found} packages, ${mb} MB`
    results.push({ claim: `npm install ${names} is as large as the page states`, error })
    await run(folder, 'rm -rf node_modules package-lock.json', env)
  }
  if (results.length === 2) return results
  return [{ claim: 'the page compares two', error: `it has ${results.length}` }]
}

function sizeOf(path) {
  const found = statSync(path)
  return found.isFile() ? found.size : 0
}
