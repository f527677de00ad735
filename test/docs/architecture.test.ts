import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { ROOMS, STORE_FILES } from '../architecture/rooms.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const core = join(root, 'packages/core/src')
const page = readFileSync(join(root, 'docs/architecture.md'), 'utf8')

describe('the page about the architecture', () => {
  it('draws the rooms and imports that the code is held to', () => {
    const drawn = marksOf(blockOf('room')).map(([room, imports]) => [room, imports.toSorted()])
    const rooms = Object.entries(ROOMS).map(([room, imports]) => [
      room,
      imports.split(' ').filter(Boolean).toSorted(),
    ])
    expect(Object.fromEntries(drawn)).toEqual(Object.fromEntries(rooms))
    expect(drawn).toHaveLength(rooms.length)
  })

  it('names each file of the stores that a room may import beside the port', () => {
    const section = page.slice(page.indexOf('## Who may import whom'))
    const named = section.match(/stores\/[\w/-]+\.ts/g) ?? []
    const allowed = filesOf('stores').filter((path) =>
      Object.values(STORE_FILES).some((files) => files.test(path)),
    )
    expect(new Set(named)).toEqual(new Set(allowed))
  })

  it('draws the packages and what they depend on', () => {
    const [, ...lines] = blockOf('package')
    const drawn = lines.map((line) => line.split(/ +/))
    const packages = readdirSync(join(root, 'packages')).map((folder) => {
      const text = readFileSync(join(root, 'packages', folder, 'package.json'), 'utf8')
      const { name, dependencies, peerDependencies } = JSON.parse(text) as {
        name: string
        dependencies?: object
        peerDependencies?: object
      }
      const names = Object.keys({ ...dependencies, ...peerDependencies })
      const own = names.filter((dependency) => dependency.startsWith('@sluice/'))
      return [name, ...(own.length > 0 ? own : ['-'])]
    })
    expect(drawn.toSorted()).toEqual(packages.toSorted())
  })

  it('names only files and folders that exist', () => {
    const files = page.match(/[\w./-]+\.(?:tsx?|mjs|lua|json)\b/g) ?? []
    const folders = Array.from(page.matchAll(/`([\w./-]+\/)`/g), ([, path = '']) => path)
    const paths = [...new Set([...files, ...folders])]
    expect(paths.length).toBeGreaterThan(20)
    expect(
      paths.filter((path) => !existsSync(join(root, path)) && !existsSync(join(core, path))),
    ).toEqual([])
  })
})

/** Reads the marks of a grid, line by line, with the columns of its heading. */
function marksOf([heading = '', ...lines]: readonly string[]): [name: string, marks: string[]][] {
  const columns = Array.from(heading.matchAll(/\S+/g)).slice(1)
  return lines.map((line) => [
    line.split(' ')[0] ?? '',
    columns.filter(({ index }) => line[index] === '●').map(([column]) => column),
  ])
}

/** Returns the lines of the text block whose heading begins with `name`. */
function blockOf(name: string): string[] {
  const blocks = Array.from(page.matchAll(/```text\n([\s\S]*?)\n```/g), ([, text = '']) => text)
  return blocks.find((text) => text.startsWith(`${name} `))?.split('\n') ?? []
}

/** Lists the files of a room. */
function filesOf(room: string): string[] {
  return readdirSync(join(core, room), { recursive: true }).map((path) => join(room, String(path)))
}
