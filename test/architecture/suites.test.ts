import { globSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { testsNamed } from '../../scripts/needs.ts'
import { MAIN_STORES, SUITES, type SuiteName } from '../suites.ts'
import { STORES } from '../support/stores.ts'
import { tableOf } from '../support/markdown.ts'

const root = new URL('../../', import.meta.url)
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8')
const filesIn = (patterns: readonly string[]): string[] =>
  globSync([...patterns], { cwd: root.pathname })

/** The files of the gate that read how much to do from the environment. */
const SWEEPS: Readonly<Record<string, string[]>> = {
  leases: ['test/leases/*.test.ts'],
  nightly: ['test/world/worlds-*.test.ts', 'test/core/upstream/follows.test.ts'],
}

const names = Object.keys(SUITES) as SuiteName[]

it.each(names)('each pattern of the suite %s matches a file', (name) => {
  expect(SUITES[name].files.filter((pattern) => filesIn([pattern]).length === 0)).toEqual([])
})

it('no file is in two suites', () => {
  const files = names.flatMap((name) => filesIn(SUITES[name].files))
  expect(files.filter((file, index) => files.indexOf(file) < index)).toEqual([])
})

it.each(names)('the suite %s has a command, a part of the gate and a row of the table', (name) => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
  expect(scripts[`test:${name}`]).toBe(`node scripts/test.mjs ${name}`)
  expect(/set -- (.+)/.exec(read('.ci/run'))?.[1]?.match(/\w+/g)).toContain(name)
  expect([...tableOf(read('test/README.md'), 'suite').keys()]).toContain(`\`npm run test:${name}\``)
})

it('a test that runs in every kind of store is in the suite of stores, beside those of objects', () => {
  const all = filesIn(['test/**/*.test.ts']).filter((file) =>
    /each\(STORES_TO_TEST\b/.test(read(file)),
  )
  expect(all.length).toBeGreaterThan(9)
  const objects = filesIn(['test/cloudflare/durable-object/**/*.test.ts'])
  expect(filesIn(SUITES.stores.files).toSorted()).toEqual([...all, ...objects].toSorted())
})

it('a test that needs the cluster is in a suite that starts it', () => {
  const needing = filesIn(['test/**/*.test.ts']).filter((file) =>
    /connectCluster\([^)]*clusterPorts/.test(read(file)),
  )
  const started = [...SUITES.stores.files, ...SUITES.proofs.files]
  expect(needing).not.toEqual([])
  expect(needing.filter((file) => !filesIn(started).includes(file))).toEqual([])
})

it('npm test has three rows of the table of stores', () => {
  expect(MAIN_STORES).toHaveLength(3)
  expect(Object.keys(STORES)).toEqual(expect.arrayContaining([...MAIN_STORES]))
})

it.each(['leases', 'nightly'])('npm run test:%s runs files, whatever suite they are of', (name) => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
  const [, list = ''] = /node scripts\/test\.mjs (.*)$/.exec(scripts[`test:${name}`] ?? '') ?? []
  const files = list.split(' ').map((one) => testsNamed([one]))
  expect(files.map(({ length }) => length > 0)).not.toContain(false)
  expect(files.flat()).toEqual(expect.arrayContaining(filesIn(SWEEPS[name] ?? [])))
  expect([...tableOf(read('test/README.md'), 'suite').keys()]).toContain(`\`npm run test:${name}\``)
})
