import { globSync } from 'node:fs'
import { basename } from 'node:path'
import { expect, it } from 'vitest'

const root = new URL('../..', import.meta.url).pathname

/** The folders of `test/` that cross packages or serve the others. `test/README.md` has a row for each. */
const BESIDE = [
  ['architecture', 'bench', 'clients', 'commands', 'conformance', 'docs', 'doors', 'e2e', 'faults'],
  ['leases', 'mutation', 'observability', 'packaging', 'support', 'trace', 'world'],
].flat()

/** The packages whose folder of tests may have folders for some of its rooms. */
const PARTLY = ['ai', 'cli', 'dashboard', 'queue', 'replay', 'usage']

const foldersOf = (path: string, files: string): string[] =>
  globSync(`${path}/*/`, { cwd: root, exclude: (name) => basename(name) === 'node_modules' })
    .filter((folder) => globSync(`${folder}/**/${files}`, { cwd: root }).length > 0)
    .map((folder) => basename(folder))

const roomsOf = (name: string): string[] => foldersOf(`packages/${name}/src`, '*.{ts,tsx}')
const testsOf = (path: string): string[] => foldersOf(path, '*.test.ts')

/** Says what keeps the folders of tests from being a mirror. */
const differences = (
  path: string,
  rooms: readonly string[],
  tests: readonly string[],
): string[] => [
  ...rooms
    .filter((name) => !tests.includes(name))
    .map((name) => `${name} has no tests: put them into ${path}/${name}.`),
  ...tests
    .filter((name) => !rooms.includes(name))
    .map((name) => `${path}/${name} has tests of nothing that has this name: move them.`),
]

it('each package has a folder of tests, and each further folder of tests is listed', () => {
  const packages = foldersOf('packages', '*.ts')
  const tests = testsOf('test')
  expect(packages.length).toBeGreaterThan(10)
  expect(
    differences(
      'test',
      packages,
      tests.filter((name) => !BESIDE.includes(name)),
    ),
  ).toEqual([])
  expect(BESIDE.filter((name) => !foldersOf('test', '*.ts').includes(name))).toEqual([])
})

it('each room of the core has a folder of tests, and each folder of tests is of a room', () => {
  expect(roomsOf('core').length).toBeGreaterThan(20)
  expect(differences('test/core', roomsOf('core'), testsOf('test/core'))).toEqual([])
})

it.each(PARTLY)('each folder in the tests of %s is of one of its rooms', (name) => {
  const tests = testsOf(`test/${name}`)
  const rooms = roomsOf(name)
  expect(rooms).not.toEqual([])
  expect(
    differences(
      `test/${name}`,
      rooms.filter((room) => tests.includes(room)),
      tests,
    ),
  ).toEqual([])
})

it('a room without tests and tests without a room are named, with what to do', () => {
  expect(differences('test/core', ['lua', 'new'], ['lua', 'old'])).toEqual([
    'new has no tests: put them into test/core/new.',
    'test/core/old has tests of nothing that has this name: move them.',
  ])
})
