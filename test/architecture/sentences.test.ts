import { globSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

const root = new URL('../..', import.meta.url).pathname

/** Returns the sentences that begin with a relative clause in place of a noun. A question may. */
const clausesIn = (text: string): string[] =>
  Array.from(
    text
      .replaceAll(/\s+/g, ' ')
      .matchAll(/(?:^|[.!?:] |\| |- )\**((?:What|Whatever|Whom?|Whoever|Whose) [^.?!]*[.?!]?)/g),
    ([, sentence = '']) => sentence,
  ).filter((sentence) => !sentence.endsWith('?'))

const commentsOf = (source: string): string[] =>
  Array.from(
    source.matchAll(/\/\*([\s\S]*?)\*\/|(?<=^|\s)\/\/ (.*)/g),
    ([, block = '', line = '']) => (block || line).replaceAll(/^\s*\*+ ?/gm, '').trim(),
  )

const proseOf = (page: string): string[] =>
  page
    // Blocks of code, headings and labels.
    .replaceAll(/```[\s\S]*?```|^#.*|\*\*[^*]+\.\*\*/gm, '')
    .split(/\n\n|\n(?=[-#|]|\d+\.)/)
    .map((part) => part.replace(/^[-#\d.| ]+/, ''))

/** The packages of others, built files, and the texts below. */
const NOT_READ = [
  '**/{node_modules,dist,.next,.wrangler}/**',
  'test/architecture/sentences.test.ts',
]

const found = (pattern: string, parts: (text: string) => string[]): [number, string[]] => {
  const files = globSync(pattern, { cwd: root, exclude: NOT_READ })
  const clauses = files.flatMap((file) =>
    parts(readFileSync(`${root}${file}`, 'utf8'))
      .flatMap(clausesIn)
      .map((clause) => `${file}: ${clause}`),
  )
  return [files.length, clauses]
}

it.each([
  ['packages/*/src/**/*.{ts,tsx}', commentsOf],
  ['{test,apps,scripts}/**/*.{ts,tsx,mjs}', commentsOf],
  ['docs/**/*.md', proseOf],
  ['{.,packages/*}/*.md', proseOf],
])('no sentence of %s begins with What, Who, Whose, Whatever or Whoever', (pattern, parts) => {
  const [files, clauses] = found(pattern, parts)
  expect(files).toBeGreaterThan(5)
  expect(clauses).toEqual([])
})

it.each([
  ['/** What is left. */', 1],
  ['/* Says it. Who asks is told. */', 1],
  ['/** Says\n * more. Whose\n * it is matters. */', 1],
  ['// What fails is logged.', 1],
  ['// Whoever asks is told.', 1],
  ['// Whatever fails is logged.', 1],
  ['/** What is left? */', 0],
  ['/** Says what is left, and who asks. */', 0],
])('finds them in %s', (source, count) => {
  expect(commentsOf(source).flatMap(clausesIn)).toHaveLength(count)
})
