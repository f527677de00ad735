/* The files with which a framework begins: those of its page in docs/start. */
import { basename } from 'node:path'
import { readPage } from '../pages.ts'

/** The frameworks by the names of their pages, and the package by which each is recognised. */
export const FRAMEWORKS: ReadonlyMap<string, string | undefined> = new Map([
  ['nextjs', 'next'],
  ['sveltekit', '@sveltejs/kit'],
  ['astro', 'astro'],
  ['cloudflare', 'wrangler'],
  // Named by who wants it: a package does not tell.
  ['durable-objects', undefined],
  ['hono', 'hono'],
  ['express', 'express'],
  ['fastify', 'fastify'],
  ['h3', 'h3'],
])

export interface Template {
  /** The name of its page in docs/start. */
  readonly name: string
  readonly packages: readonly string[]
  readonly devPackages: readonly string[]
  /** True if its package.json must have the type "module". */
  readonly isModule: boolean
  readonly files: Readonly<Record<string, string>>
}

/** Returns the packages that a page installs, and the files that it has in its third step and shares with others. */
export function templateOf(name: string): Template {
  const page = readPage(`start/${name}`)
  const [, shared = ''] = /write\]\(README\.md\)(.*)/.exec(page) ?? []
  const texts = filesOf(readPage('start/README'))
  // A subsection is for some apps only.
  const [step = ''] = /^## 3\. [^]*?(?=^##)/m.exec(page) ?? []
  return {
    name,
    packages: packagesOf(/^npm install (?!--save-dev)(.*)$/m.exec(page)),
    devPackages: packagesOf(/^npm install --save-dev (.*)$/m.exec(page)),
    isModule: page.includes('npm pkg set type=module'),
    files: Object.fromEntries([
      ...Array.from(shared.matchAll(/`(.*?)`/g), ([, path = '']) => [
        path,
        // Some pages put the shared files into a folder.
        texts.get(basename(path)),
      ]),
      ...filesOf(step),
    ]) as Record<string, string>,
  }
}

const packagesOf = (line: RegExpExecArray | null): readonly string[] => line?.[1]?.split(' ') ?? []

/** Returns the blocks that begin with the name of a file. */
const filesOf = (text: string): ReadonlyMap<string, string> =>
  new Map(
    Array.from(text.matchAll(/```\w+\n\/\/ (\S+)\n([^]*?)```/g), ([, path = '', code = '']) => [
      path,
      code,
    ]),
  )
