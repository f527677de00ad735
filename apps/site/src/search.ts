import type { DefaultTheme, MarkdownEnv } from 'vitepress'
import { isApi } from './api.ts'
import { pageOf } from './markdown.ts'

type Render = NonNullable<DefaultTheme.LocalSearchOptions['_render']>
type MiniSearch = NonNullable<DefaultTheme.LocalSearchOptions['miniSearch']>

/** Renders the text of a page that the search reads: without colors of code, and of the API reference the names only. */
export const renderForSearch: Render = (text, env: MarkdownEnv & { plain?: boolean }, md) => {
  const highlight = md.options.highlight ?? null
  const names = (text.match(/^#.*$/gm) ?? []).join('\n\n')
  md.set({ highlight: null })
  try {
    return md.render(isApi(pageOf(env)) ? names : text, Object.assign(env, { plain: true }))
  } finally {
    md.set({ highlight })
  }
}

// The browser gets the functions below as text: they use nothing from outside.

/** The options of the index. A word is kept without its ending, so that "denied" finds "denies". */
export const INDEX: NonNullable<MiniSearch['options']> = {
  processTerm(term) {
    const word = term.toLowerCase()
    const isCommon =
      /^(?:.|an|and|are|as|at|be|by|can|do|does|for|from|get|has|have|how|if|in|is|it|its|long|me|my|of|on|one|or|our|own|so|than|that|the|their|them|then|this|to|was|we|what|when|which|who|why|will|with|work|you|your)$/
    // A digit alone may be a limit.
    if (isCommon.test(word) && !/\d/.test(word)) return null
    return word
      .replace(/(?<=...)(?:ies|ied)$/, 'y')
      .replace(/(?<=ss)es$|(?<=...[^s])s$/, '')
      .replace(/(?<=...)(?:ing|ed|ly)$/, '')
      .replace(/(?<=...)e$/, '')
  },
}

/** The options of a search. */
export const SEARCH: NonNullable<MiniSearch['searchOptions']> = {
  boost: { title: 4, titles: 2, text: 1 },
  fuzzy: (term) => (term.length > 5 ? 0.2 : false),
  prefix: (_term, at, terms) => at === terms.length - 1,
  weights: { fuzzy: 0.1, prefix: 0.3 },
  // Pages for a task before those that say why, before lists of pages, and before the API reference.
  boostDocument: (page) =>
    /docs\/(api|decisions|proofs|facts|performance|architecture|extending|(#|$))|CONTRIBUTING|\/(test|demo|bench)\//.test(
      page,
    )
      ? 0.3
      : 1,
}
