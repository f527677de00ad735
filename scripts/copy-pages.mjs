// Copies the pages of the docs into a package.
import { cpSync } from 'node:fs'

const [from, to] = process.argv.slice(2)
cpSync(from, to, {
  recursive: true,
  // `api` is made by a script.
  filter: (path) => path.endsWith('.md') || !/\.\w+$|\/api$/.test(path),
})
