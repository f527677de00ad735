// Copies a page of the docs into a package. Pages beside it are not there, so links to them become plain text.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'

const [page, folder] = process.argv.slice(2)
mkdirSync(folder, { recursive: true })
const text = readFileSync(page, 'utf8').replace(/\[([^\]]+)\]\((?!#)[^)]+\)/g, '$1')
writeFileSync(join(folder, basename(page)), text)
