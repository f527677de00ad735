import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitepress'
import { placeOf } from '../src/addresses.ts'
import { githubAnchor } from '../src/anchors.ts'
import { apiSidebar, entriesOf, linkNames, readApi } from '../src/api.ts'
import { readAsWritten } from '../src/markdown.ts'
import { lightOnPaper } from '../src/paper.ts'
import { INDEX, renderForSearch, SEARCH } from '../src/search.ts'
import { sidebarOf } from '../src/sidebar.ts'
import { makeTabs } from '../src/tabs.ts'
import { writeTwins } from '../src/twins.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const inApp = (path: string): string => fileURLToPath(new URL(`../${path}`, import.meta.url))
const api = readApi(read('apps/site/api/README.md'))

/** The site of the docs: the same files as in the packages. `npm run site` builds it into `apps/site/dist`. */
export default defineConfig({
  lang: 'en',
  title: 'Sluice',
  description: 'Rate limits and budgets for AI endpoints, at the edge.',
  srcDir: root,
  outDir: inApp('dist'),
  cacheDir: inApp('.cache'),
  // Every Markdown file that is no page.
  srcExclude: [
    '**/node_modules/**',
    '**/{dist,fixtures}/**',
    '**/CHANGELOG.md',
    'examples/**',
    'test/**/!(README).md',
    'packages/*/docs/**',
    // The site has the API reference in a folder of its own.
  ],
  rewrites: placeOf,
  head: [
    // Tabs need JavaScript: without it, a page shows all panels.
    ['script', {}, "document.documentElement.classList.add('js')"],
    // Otherwise a browser asks the server for one.
    ['link', { rel: 'icon', href: 'data:,' }],
  ],
  markdown: {
    anchor: { slugify: githubAnchor },
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    config(md) {
      readAsWritten(md, (page) => entriesOf(page, api))
      linkNames(md, api)
      makeTabs(md)
    },
  },
  themeConfig: {
    nav: [
      { text: 'Getting started', link: '/docs/getting-started' },
      { text: 'Playground', link: '/playground/' },
      { text: 'All pages', link: '/docs/' },
      { text: 'API reference', link: '/docs/api/' },
    ],
    sidebar: {
      '/docs/api/': [{ text: 'API reference', link: '/docs/api/', items: apiSidebar(api) }],
      '/': [
        ...sidebarOf(read('docs/README.md')),
        { text: 'API reference', items: [{ text: 'All entries', link: '/docs/api/' }] },
      ],
    },
    outline: [2, 3],
    search: {
      provider: 'local',
      options: { _render: renderForSearch, miniSearch: { options: INDEX, searchOptions: SEARCH } },
    },
    docFooter: { prev: false, next: false },
  },
  vite: { css: { postcss: { plugins: [lightOnPaper] } } },
  buildEnd: ({ outDir, pages }) => writeTwins(root, outDir, pages),
})
