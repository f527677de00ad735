import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { javascriptOf } from '../../../apps/site/src/javascript.ts'
import { root, type BuiltSite } from './built.ts'

const PROVIDERS = 'docs/recipes/auth-providers.html'
const NAMES = ['Clerk', 'Supabase', 'Better Auth', 'Auth.js']

/** The tabs of pages: of headings that stand for one choice, and of code. */
export function describeTabs(site: () => BuiltSite): void {
  describe('tabs', () => {
    it('show one of the headings that stand for one choice, by clicks and by keys', async () => {
      const page = await site().open(PROVIDERS)
      const tabs = page.getByRole('tablist', { name: 'Auth' }).getByRole('tab')
      expect(await tabs.allInnerTexts()).toEqual(NAMES)
      const code = page.getByText('your-project.supabase.co')
      expect(await code.isVisible()).toBe(false)
      await tabs.nth(1).click()
      expect(await code.isVisible()).toBe(true)
      expect(await page.getByText('your-app.clerk.accounts.dev').isVisible()).toBe(false)
      for (const [key, name] of [
        ['ArrowRight', 'Better Auth'],
        ['End', 'Auth.js'],
        ['ArrowRight', 'Clerk'],
        ['ArrowLeft', 'Auth.js'],
        ['Home', 'Clerk'],
      ] as const) {
        await page.keyboard.press(key)
        const focused = page.locator(':focus')
        expect([await focused.innerText(), await focused.getAttribute('aria-selected')]).toEqual([
          name,
          'true',
        ])
      }
      await page.context().close()
    })

    it.each([
      ['Auth', PROVIDERS, NAMES],
      [
        'Store',
        'docs/getting-started.html',
        ['Upstash', 'Redis over TCP', 'Durable Objects', 'A file', 'Memory'],
      ],
      ['Store', 'docs/redis.html', ['ioredis', 'node-redis']],
      ['Framework', 'docs/observability.html', ['Node.js', 'Next.js', 'Cloudflare Workers']],
    ])('of %s are on %s', async (family, path, names) => {
      const page = await site().open(path)
      const tabs = page.getByRole('tablist', { name: family }).getByRole('tab')
      expect(await tabs.allInnerTexts()).toEqual(names)
      await page.context().close()
    })

    it('show the heading that an address leads to, also after the page is there', async () => {
      const page = await site().open(`${PROVIDERS}#supabase`)
      await page.getByText('your-project.supabase.co').waitFor()
      expect(await page.getByText('your-app.clerk.accounts.dev').isVisible()).toBe(false)
      const outline = page.getByRole('navigation', { name: 'On this page' })
      await outline.getByRole('link', { name: 'Auth.js' }).click()
      await page.getByRole('tab', { name: 'Auth.js', selected: true }).waitFor()
      await page.context().close()
    })

    it('take no harm from an address that nobody has encoded', async () => {
      const page = await site().open('SECURITY.html')
      const errors: Error[] = []
      page.on('pageerror', (error) => errors.push(error))
      await page.goto(`${site().address}${PROVIDERS}#%E0%A4%A`)
      await page.getByRole('tab', { name: 'Clerk', selected: true }).waitFor()
      await page.getByRole('tab', { name: 'Supabase' }).click()
      await page.getByRole('tab', { name: 'Supabase', selected: true }).waitFor()
      expect(errors).toEqual([])
      await page.context().close()
    })

    it('keep the choice of a language on the next page, and after a reload', async () => {
      const [first = '', second = ''] = site().pages.filter((path) =>
        readFileSync(join(site().folder, path), 'utf8').includes('of-language'),
      )
      const page = await site().open(first)
      const group = page.locator('.page-tabs.of-language').first()
      const [typescript, javascript] = ['TypeScript', 'JavaScript'].map((name) =>
        group.getByRole('tabpanel', { name }),
      )
      await typescript?.waitFor()
      expect(await javascript?.isVisible()).toBe(false)
      await group.getByRole('tab', { name: 'JavaScript' }).click()
      expect(await typescript?.isVisible()).toBe(false)
      await page.reload()
      await javascript?.waitFor()
      expect(second).not.toBe('')
      await page.goto(site().address + second)
      await javascript?.waitFor()
      await page.context().close()
    })

    it('are all shown without JavaScript, and on paper', async () => {
      const page = await site().open(PROVIDERS, { javaScriptEnabled: false })
      const paper = await site().open(PROVIDERS)
      await paper.emulateMedia({ media: 'print' })
      for (const one of [page, paper]) {
        expect(await one.getByRole('tab').count()).toBe(0)
        for (const name of NAMES) {
          expect(await one.getByRole('heading', { level: 2, name }).isVisible()).toBe(true)
        }
        await one.context().close()
      }
    })
  })

  describe('the JavaScript of a block', () => {
    const blocks = globSync(['docs/**/*.md', 'packages/*/README.md'], { cwd: root })
      .filter((path) => !/packages\/\w+\/docs/.test(path))
      .flatMap((path) =>
        Array.from(readFileSync(join(root, path), 'utf8').matchAll(/^```ts\n([^]*?)^```/gm)),
      )
      .map(([, code = '']) => javascriptOf(code))
      .filter((code) => code !== undefined)

    it('has no types, and no gaps where they were', () => {
      expect(blocks.length).toBeGreaterThan(40)
      // Without types, nothing is left to strip.
      expect(blocks.filter((code) => javascriptOf(code) !== undefined)).toEqual([])
      expect(blocks.filter((code) => /\.m?tsx?\b/.test(code))).toEqual([])
      const gaps = /\)\{|\)=>|\{ *\} from|^ *(?!\/\/)\S.*\S {2,}\S|\n{3}/m
      expect(blocks.filter((code) => gaps.test(code))).toEqual([])
    })

    it.each([
      ['const f = (a: A): B => a as C', 'const f = (a) => a\n'],
      ["import { a, type B } from 'c'\na<B>()", "import { a } from 'c'\na()\n"],
      ['interface A {\n  b: C\n}\n\ntake()', 'take()\n'],
      ['declare const ask: Ask // your provider\nask()', '// ask: your provider\nask()\n'],
      ['// a.ts\nf(a as A)', '// a.js\nf(a)\n'],
      [
        "import a from './b.mts'\nf(a as A) // c/d.tsx",
        "import a from './b.mjs'\nf(a) // c/d.jsx\n",
      ],
      ['async function f(\n  a: A,\n): Promise<B> {\n}', 'async function f(\n  a,\n) {\n}\n'],
    ])('of %j is %j', (typescript, javascript) => {
      expect(javascriptOf(typescript)).toBe(javascript)
    })

    it.each([['f()'], ['interface A { b: C }'], ['const a ='], ['enum A { B }']])(
      'of %j does not exist',
      (typescript) => expect(javascriptOf(typescript)).toBeUndefined(),
    )
  })
}
