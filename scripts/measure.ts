// Prints the size of the code: lines by package, and the files and function calls of a few fixed requests. Run it by
// `npm run measure`, before a change and after it.
import { fileURLToPath } from 'node:url'
import { coverageOf } from './measure/coverage.ts'
import { linesIn } from './measure/lines.ts'
import { REQUESTS } from '../test/architecture/measured-requests.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const sources = linesIn(root, 'packages', 'src/')
const tests = linesIn(root, 'test')
const number = (value: number): string => value.toLocaleString('en').padStart(8)
const sum = (lines: ReadonlyMap<string, number>): number =>
  [...lines.values()].reduce((total, count) => total + count, 0)
const row = (name: string, ...values: number[]): void =>
  console.log(`${name.padEnd(22)}${values.map(number).join('')}`)

console.log('lines                   source   tests')
for (const name of new Set([...sources.keys(), ...tests.keys()]))
  row(name, sources.get(name) ?? 0, tests.get(name) ?? 0)
row('all', sum(sources), sum(tests))

console.log('\nrequest                  files   calls')
for (const [name, request] of Object.entries(REQUESTS)) {
  // The first ones begin what later ones find.
  await request()
  await request()
  const { files, calls } = await coverageOf(request)
  row(name, files, calls)
}
