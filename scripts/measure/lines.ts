import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const CODE = /\.(tsx?|[cm]?js|lua)$/

/** Lines of code by folder of `parent`, those of generated files and of files that are not committed yet among them. */
export function linesIn(root: string, parent: string, below = ''): Map<string, number> {
  const list = ['ls-files', '-z', '--cached', '--others', '--exclude-standard', parent]
  const paths = execFileSync('git', list, { cwd: root, encoding: 'utf8' }).split('\0')
  const lines = new Map<string, number>()
  for (const path of paths.filter((one) => CODE.test(one) && existsSync(join(root, one)))) {
    const [folder = '', ...rest] = path.slice(parent.length + 1).split('/')
    if (rest.length === 0 || !rest.join('/').startsWith(below)) continue
    const count = readFileSync(join(root, path), 'utf8').split('\n').length - 1
    lines.set(folder, (lines.get(folder) ?? 0) + count)
  }
  return lines
}
