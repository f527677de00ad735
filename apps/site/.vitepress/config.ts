import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitepress'
import { githubAnchor } from '../src/anchors.ts'
import { readAsWritten } from '../src/markdown.ts'
import { sidebarOf } from '../src/sidebar.ts'
import { writeTwins } from '../src/twins.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const inApp = (path: string): string => fileURLToPath(new URL(`../${path}`, import.meta.url))

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
  ],
  rewrites: (page) =>
    page.replace(/(^|\/)README\.md$/, '$1index.md').replace('apps/site/playground/', 'playground/'),
  markdown: {
    anchor: { slugify: githubAnchor },
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    config: readAsWritten,
  },
  themeConfig: {
    nav: [
      { text: 'Getting started', link: '/docs/getting-started' },
      { text: 'Playground', link: '/playground/' },
      { text: 'All pages', link: '/docs/' },
    ],
    sidebar: sidebarOf(readFileSync(join(root, 'docs/README.md'), 'utf8')),
    outline: [2, 3],
    search: {
      provider: 'local',
      options: {
        miniSearch: {
          searchOptions: {
            // Pages for a task before those that say why. The browser gets this function as text.
            boostDocument: (page: string) =>
              /docs\/(decisions|proofs|facts|performance|architecture|extending)|CONTRIBUTING|\/test\//.test(
                page,
              )
                ? 0.3
                : 1,
          },
        },
      },
    },
    docFooter: { prev: false, next: false },
  },
  buildEnd: ({ outDir, pages }) =>
    writeTwins(
      root,
      outDir,
      pages.filter((page) => !page.startsWith('apps/site/playground/')),
    ),
})
