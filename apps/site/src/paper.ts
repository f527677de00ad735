import type { DefaultTheme, UserConfig } from 'vitepress'

type Css = NonNullable<NonNullable<UserConfig<DefaultTheme.Config>['vite']>['css']>
type Plugin = Extract<NonNullable<Exclude<Css['postcss'], string>>['plugins'], unknown[]>[number]

/** Keeps the dark colors to screens: paper is white, and has dark letters. */
export const lightOnPaper: Plugin = {
  postcssPlugin: 'light on paper',
  Once(root, { AtRule }) {
    root.walkRules(/\.dark\b/, (rule) => {
      const screen = new AtRule({ name: 'media', params: 'screen' })
      rule.replaceWith(screen)
      screen.append(rule)
    })
  },
}
