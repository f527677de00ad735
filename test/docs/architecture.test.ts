import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import {
  AI_ROOMS,
  CLI_ROOMS,
  DASHBOARD_ROOMS,
  QUEUE_ROOMS,
  REPLAY_ROOMS,
  ROOMS,
  STORE_FILES,
  USAGE_ROOMS,
  WINGS,
} from '../architecture/import-rules.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const core = join(root, 'packages/core/src')
const page = readFileSync(join(root, 'docs/architecture.md'), 'utf8')

describe('the page about the architecture', () => {
  it.each([
    ['room', ROOMS],
    ['ai-room', AI_ROOMS],
    ['usage-room', USAGE_ROOMS],
    ['queue-room', QUEUE_ROOMS],
    ['dashboard-room', DASHBOARD_ROOMS],
    ['replay-room', REPLAY_ROOMS],
    ['cli-room', CLI_ROOMS],
  ])('draws each %s and the imports that the code is held to', (block, rules) => {
    const [heading = '', ...lines] = blockOf(block)
    const drawn = lines.map((line) => [line.split(' ')[0], new Set(marksOf(line, heading))])
    const rooms = Object.entries(rules).map(([room, imports]) => [
      room,
      new Set(imports.split(' ').filter(Boolean)),
    ])
    expect(Object.fromEntries(drawn)).toEqual(Object.fromEntries(rooms))
    expect(drawn).toHaveLength(rooms.length)
  })

  it('has the wings of the core in a table', () => {
    const rows = Array.from(page.matchAll(/^\| `(\w+)` .*\|(.*)\|$/gm), ([, wing, rooms = '']) => [
      wing,
      Array.from(rooms.matchAll(/`([\w-]+)`/g), ([, room]) => room).join(' '),
    ])
    expect(Object.fromEntries(rows)).toEqual(WINGS)
  })

  it('names each file of the stores that another room may import', () => {
    const section = page.slice(page.indexOf('## Who may import whom'))
    const named = section.match(/stores\/[\w/-]+\.ts/g) ?? []
    const allowed = filesOf('stores').filter((path) =>
      Object.values(STORE_FILES).some((files) => files.test(path)),
    )
    expect(new Set(named)).toEqual(new Set(allowed))
  })

  it('draws the packages and what they depend on', () => {
    const [, ...lines] = blockOf('package')
    const drawn = lines.map((line) => line.split(/ +/)).map(([name, ...imports]) => [name, imports])
    const packages = readdirSync(join(root, 'packages')).map((folder) => {
      const text = readFileSync(join(root, 'packages', folder, 'package.json'), 'utf8')
      const manifest = JSON.parse(text) as Record<string, object | undefined>
      const names = Object.keys({ ...manifest['dependencies'], ...manifest['peerDependencies'] })
      const imports = names.filter((name) => name.startsWith('@sluice/'))
      return [manifest['name'], imports.length > 0 ? imports : ['-']]
    })
    expect(Object.fromEntries(drawn)).toEqual(Object.fromEntries(packages))
  })

  it('names only files and folders that exist', () => {
    const files = page.match(/[\w./-]+\.(?:tsx?|mjs|lua|json)\b/g) ?? []
    const folders = Array.from(page.matchAll(/`([\w./-]+\/)`/g), ([, path = '']) => path)
    const paths = [...new Set([...files, ...folders])]
    expect(paths.length).toBeGreaterThan(20)
    const missing = paths.filter((path) =>
      [root, core].every((base) => !existsSync(join(base, path))),
    )
    expect(missing).toEqual([])
  })
})

/** Returns the lines of the text block whose heading begins with `name`. */
function blockOf(name: string): string[] {
  const blocks = Array.from(page.matchAll(/```text\n([\s\S]*?)\n```/g), ([, text = '']) => text)
  return blocks.find((text) => text.startsWith(`${name} `))?.split('\n') ?? []
}

/** Names the columns of `heading` in which a line has a mark. */
function marksOf(line: string, heading: string): string[] {
  const columns = Array.from(heading.matchAll(/\S+/g))
  return columns.filter(({ index }) => line[index] === '●').map(([column]) => column)
}

/** Lists the files of a room. */
function filesOf(room: string): string[] {
  return readdirSync(join(core, room), { recursive: true }).map((path) => join(room, String(path)))
}
