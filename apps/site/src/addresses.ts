/** Returns the place of a page in the site, of its place in the repository. */
export const placeOf = (source: string): string =>
  source
    .replace(/(^|\/)README\.md$/, '$1index.md')
    .replace(/^apps\/site\/playground\//, 'playground/')
    .replace(/^apps\/site\/api\//, 'docs/api/')

/** Tells whether a page can be read as Markdown. */
export const isText = (source: string): boolean => !source.startsWith('apps/site/playground/')
