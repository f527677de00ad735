import { SPELLINGS as GENERAL } from '../../support/spellings.ts'

/** A way to write a path that a handler may be found under. */
export interface Spelling {
  readonly name: string
  /** The request target. `path` is as the app's links have it, without the base path. */
  readonly write: (path: string, base: string, buildId: string) => string
  readonly method: 'GET' | 'POST'
}

/** Spellings that only Next.js knows. */
const OF_NEXT: Readonly<Record<string, Spelling['write']>> = {
  'with its base path in upper case': (path, base) => base.toUpperCase() + path,
  'with its base path twice': (path, base) => base + (base || '/app') + path,
  'without its base path': (path) => path,
  'as data of a page': (path, base, id) => `${base}/_next/data/${id}${path}.json`,
  'as data of a page, without its suffix': (path, base, id) => `${base}/_next/data/${id}${path}`,
  'as data of a page of another build': (path, base) => `${base}/_next/data/x${path}.json`,
}

/** The request of the image optimizer, which Next.js makes by itself for whoever asks. */
const image: Spelling = {
  name: 'as the image optimizer asks for it',
  method: 'GET',
  write: (path, base) => `${base}/_next/image?url=${encodeURIComponent(base + path)}&w=640&q=75`,
}

export const SPELLINGS: readonly Spelling[] = [
  ...GENERAL.map(({ name, write }) => ({ name, write, method: 'POST' as const })),
  ...Object.entries(OF_NEXT).map(([name, write]) => ({ name, write, method: 'POST' as const })),
  image,
]
