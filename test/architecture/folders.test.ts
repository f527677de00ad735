import { globSync } from 'node:fs'
import { basename } from 'node:path'
import { expect, it } from 'vitest'

const root = new URL('../..', import.meta.url).pathname

/** The folders of `test/` that cross packages or serve the others. `test/README.md` has a row for each. */
const BESIDE = [
  ['architecture', 'bench', 'choices', 'clients', 'commands', 'conformance', 'docs', 'doors'],
  ['e2e', 'faults', 'leases', 'mutation', 'observability', 'packaging', 'support', 'trace'],
  ['world'],
].flat()

/** The packages whose tests are in folders named like its rooms. */
const MIRRORED = ['ai', 'cli', 'core', 'dashboard', 'queue', 'replay', 'usage']

/** Those of them with little beside their rooms: there, a test beside the folders has the name of a file. */
const ROOMS_ALONE = ['ai', 'core', 'replay', 'usage']

const foldersOf = (path: string, files: string): string[] =>
  globSync(`${path}/*/`, { cwd: root, exclude: (name) => basename(name) === 'node_modules' })
    .filter((folder) => globSync(`${folder}/**/${files}`, { cwd: root }).length > 0)
    .map((folder) => basename(folder))

const roomsOf = (name: string): string[] => foldersOf(`packages/${name}/src`, '*.{ts,tsx}')
const testsOf = (path: string): string[] => foldersOf(path, '*.test.ts')

const namesOf = (pattern: string, end: string): string[] =>
  globSync(pattern, { cwd: root }).map((path) => basename(path, end))

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

it.each(MIRRORED)('each room of %s has a folder of tests, and each folder is of a room', (name) => {
  expect(roomsOf(name)).not.toEqual([])
  expect(differences(`test/${name}`, roomsOf(name), testsOf(`test/${name}`))).toEqual([])
})

it.each(ROOMS_ALONE)(
  'each test of %s is in the folder of a room, or of a file beside them',
  (name) => {
    const files = namesOf(`packages/${name}/src/*.ts`, '.ts')
    const tests = namesOf(`test/${name}/*.test.ts`, '.test.ts')
    expect(tests.filter((test) => !files.includes(test))).toEqual([])
  },
)

it('a room without tests and tests without a room are named, with what to do', () => {
  expect(differences('test/core', ['lua', 'new'], ['lua', 'old'])).toEqual([
    'new has no tests: put them into test/core/new.',
    'test/core/old has tests of nothing that has this name: move them.',
  ])
})
