import type { MarkdownRenderer } from 'vitepress'

/** Lets the site read the pages as GitHub does: they have no syntax of their own for it. */
export function readAsWritten(md: MarkdownRenderer): void {
  md.core.ruler.before('normalize', 'as written', (state) => {
    state.src = state.src
      // There is no highlighter for this language.
      .replaceAll(/^```promql$/gm, '```txt')
      // Folders of the checkout are no pages.
      .replaceAll(/\[([^\]]+)\]\((?:\.\.\/)+examples\/[^)]*\)/g, '$1')
  })
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
