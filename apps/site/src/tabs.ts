import type { MarkdownRenderer } from 'vitepress'
import { isApi } from './api.ts'
import { javascriptOf } from './javascript.ts'
import { pageOf } from './markdown.ts'

/** Headings that stand for one choice of the reader: side by side, they become tabs. */
const FAMILIES: Readonly<Record<string, readonly string[]>> = {
  framework: [
    'Next.js',
    'Node.js',
    'Express',
    'Connect',
    'Nest',
    'Hono',
    'Fastify',
    'SvelteKit',
    'Astro',
    'tRPC',
    'MCP',
    'H3',
    'Nuxt',
    'React Router',
    'Cloudflare Workers',
    'Deno',
    'Bun',
    'Apollo Server',
    'GraphQL Yoga',
  ],
  store: [
    'Upstash',
    'Redis over TCP',
    'ioredis',
    'node-redis',
    'Memory',
    'Durable Objects',
    'A file',
    'Valkey',
    'Dragonfly',
    'ElastiCache',
  ],
  auth: ['Clerk', 'Supabase', 'Better Auth', 'Auth.js'],
  tests: ['Vitest', 'Jest', 'node:test'],
}

type Token = ReturnType<MarkdownRenderer['parse']>[number]

interface Heading {
  readonly at: number
  readonly depth: number
  readonly name: string
  readonly id: string
  readonly family: string | undefined
}

/** Makes tabs of headings that stand for one choice, and of a block of TypeScript and the same as JavaScript. */
export function makeTabs(md: MarkdownRenderer): void {
  md.core.ruler.push('tabs', (state) => {
    if (state.env.plain) return
    const html = (content: string): Token =>
      Object.assign(new state.Token('html_block', '', 0), { content })
    const groups = groupsOf(state.tokens)
    // From the end on, so that the places before stay.
    for (const { headings, end } of groups.toReversed()) {
      state.tokens.splice(end, 0, html('</template>\n</PageTabs>\n'))
      for (const [index, { at }] of [...headings.entries()].toReversed()) {
        const before = index === 0 ? openTabs(headings) : '</template>\n'
        state.tokens.splice(at, 0, html(`${before}<template #tab-${index}>\n`))
      }
    }
  })
  const fence = md.renderer.rules.fence
  md.renderer.rules.fence = (tokens, at, options, env, self) => {
    const render = (token: Token): string => fence?.([token], 0, options, env, self) ?? ''
    const token = tokens[at]
    if (!token) return ''
    const isPlain = env.plain || isApi(pageOf(env)) || token.info.trim() !== 'ts'
    const javascript = isPlain ? undefined : javascriptOf(token.content)
    if (!javascript) return render(token)
    const other = Object.assign(Object.create(token) as Token, { info: 'js', content: javascript })
    return [
      `<PageTabs family="language" :names='["TypeScript","JavaScript"]'>`,
      `<template #tab-0>${render(token)}</template>`,
      `<template #tab-1>${render(other)}</template></PageTabs>`,
    ].join('\n')
  }
}

function openTabs(headings: readonly Heading[]): string {
  const names = attributeOf(headings.map(({ name }) => name))
  const ids = attributeOf(headings.map(({ id }) => id))
  return `<PageTabs family="${headings[0]?.family}" :names='${names}' :ids='${ids}'>\n`
}

const attributeOf = (texts: string[]): string => JSON.stringify(texts).replaceAll("'", '&#39;')

/** Finds two or more headings of one family, one after another at the same depth, and the end of the last. */
function groupsOf(tokens: readonly Token[]): { headings: Heading[]; end: number }[] {
  const groups: { headings: Heading[]; end: number }[] = []
  let open: Heading[] = []
  const close = (end: number): void => {
    if (open.length > 1) groups.push({ headings: open, end })
    open = []
  }
  for (const heading of headingsOf(tokens)) {
    const [first] = open
    if (first && heading.depth > first.depth) continue
    const continues = first?.depth === heading.depth && first.family === heading.family
    if (!continues) close(heading.at)
    if (heading.family) open.push(heading)
  }
  close(tokens.length)
  return groups
}

const headingsOf = (tokens: readonly Token[]): Heading[] =>
  tokens.flatMap((token, at): Heading[] => {
    // The title of a page is no choice.
    if (token.type !== 'heading_open' || token.level > 0 || token.tag === 'h1') return []
    const name = tokens[at + 1]?.content.replaceAll('`', '') ?? ''
    const family = Object.keys(FAMILIES).find((key) => FAMILIES[key]?.includes(name))
    return [{ at, depth: Number(token.tag.slice(1)), name, id: token.attrGet('id') ?? '', family }]
  })
