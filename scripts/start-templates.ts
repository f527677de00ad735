/* Writes the files that `sluice init` creates: those of the pages in docs/start. */
import { writeFileSync } from 'node:fs'
import { basename } from 'node:path'
import { format } from 'prettier'
import { filesOf, startPage } from '../test/docs/start-pages.ts'

/** The pages, the package by which their framework is recognised, and the files of their steps. */
const FRAMEWORKS = {
  nextjs: ['next', 'limits.ts', 'auth.ts', 'proxy.ts', 'app/api/ai/chat/route.ts'],
  sveltekit: [
    '@sveltejs/kit',
    'src/limits.ts',
    'src/auth.ts',
    'src/hooks.server.ts',
    'src/routes/api/ai/chat/+server.ts',
  ],
  astro: [
    'astro',
    'src/limits.ts',
    'src/auth.ts',
    'src/middleware.ts',
    'src/pages/api/ai/chat.ts',
    'astro.config.mjs',
  ],
  cloudflare: ['wrangler', 'limits.ts', 'worker.ts', 'wrangler.jsonc'],
  // Named by who wants it: a package does not tell.
  'durable-objects': [undefined, 'limits.ts', 'worker.ts', 'wrangler.jsonc'],
  hono: ['hono', 'limits.ts', 'auth.ts', 'server.ts'],
  express: ['express', 'limits.ts', 'auth.ts', 'server.ts'],
  fastify: ['fastify', 'limits.ts', 'auth.ts', 'server.ts'],
  h3: ['h3', 'limits.ts', 'auth.ts', 'server.ts'],
} as const satisfies Record<string, readonly [dependency: string | undefined, ...files: string[]]>

const INSTALL = /^npm install (?!--save-dev)(.*)$/m
const INSTALL_DEV = /^npm install --save-dev (.*)$/m

/** Returns the module of the templates. */
export async function templatesModule(): Promise<string> {
  const templates = Object.entries(FRAMEWORKS).map(([name, [dependency, ...paths]]) => {
    const page = startPage(name)
    const files = filesOf(page)
    const packages = [INSTALL, INSTALL_DEV].map(
      (pattern) => pattern.exec(page)?.[1]?.split(' ') ?? [],
    )
    return {
      name,
      dependency,
      packages: packages[0],
      devPackages: packages[1],
      isModule: page.includes('npm pkg set type=module'),
      // Some pages put the shared files into a folder.
      files: Object.fromEntries(
        paths.map((path) => [path, files.get(path) ?? files.get(basename(path))]),
      ),
    }
  })
  const text = `/* Made from docs/start by scripts/start-templates.ts: do not edit. */
import type { Template } from './template.ts'

export const TEMPLATES: readonly Template[] = ${JSON.stringify(templates)}
`
  const options = { parser: 'typescript', semi: false, singleQuote: true, printWidth: 100 } as const
  return format(text, options)
}

export const TEMPLATES_FILE: URL = new URL('../packages/cli/src/init/templates.ts', import.meta.url)

if (process.argv[1] === new URL(import.meta.url).pathname) {
  writeFileSync(TEMPLATES_FILE, await templatesModule())
}
