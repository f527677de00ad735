import type { MarkdownEnv, MarkdownRenderer } from 'vitepress'

/** Returns the path of the page that is read, from the root. */
export const pageOf = (env: MarkdownEnv): string => env.relativePath ?? ''

/** Takes the links to folders and code of the checkout out of a text: they are no pages. */
export const withoutCheckout = (text: string): string =>
  text.replaceAll(/\[([^\]]+)\]\((?:\.\.\/)+(?:examples\/[^)]*|[^)]+\.ts)\)/g, '$1')

/** Lets the site read the pages as GitHub does: they have no syntax of their own for it. */
export function readAsWritten(md: MarkdownRenderer, endOf: (page: string) => string): void {
  md.core.ruler.before('normalize', 'as written', (state) => {
    state.src = withoutCheckout(state.src)
      // There is no highlighter for this language.
      .replaceAll(/^```promql$/gm, '```txt')
      .concat(endOf(pageOf(state.env)))
  })
  // The theme names the button by its title alone, and some screen readers leave titles out.
  const fence = md.renderer.rules.fence
  md.renderer.rules.fence = (...given) =>
    (fence?.(...given) ?? '').replace('<button title', '<button aria-label="Copy code" title')
  // A README is the page of its folder.
  const openLink = md.renderer.rules.link_open
  md.renderer.rules.link_open = (...given) =>
    (openLink?.(...given) ?? '').replace('README.html', 'index.html')
  // Vue would take what stands between double braces for an expression.
  for (const name of ['text', 'code_inline'] as const) {
    const render = md.renderer.rules[name]
    md.renderer.rules[name] = (...given) =>
      (render?.(...given) ?? '').replaceAll('{{', '&#123;&#123;')
  }
}
