// Says what is missing for a release, which cannot be taken back: `npm run release` begins with it.
import { existsSync, readdirSync, readFileSync } from 'node:fs'

const root = new URL('../', import.meta.url)
const missing = readdirSync(new URL('packages', root))
  .map((name) => `packages/${name}/package.json`)
  .filter((path) => existsSync(new URL(path, root)))
  .filter((path) => !JSON.parse(readFileSync(new URL(path, root), 'utf8')).repository?.url)
if (missing.length > 0) {
  console.error(
    `${missing.join(', ')}: repository is missing. npm links to it and signs with it: set { "type": "git", "url", "directory" } before a release.`,
  )
  process.exit(1)
}
