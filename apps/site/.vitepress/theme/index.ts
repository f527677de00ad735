import type { Theme } from 'vitepress'
import DefaultTheme from 'vitepress/theme'
import { Layout } from './layout.ts'
import { PageTabs } from './page-tabs.ts'
import { mendSearchBox } from './search-box.ts'
import './site.css'

const theme: Theme = {
  extends: DefaultTheme,
  enhanceApp({ app }) {
    app.component('PageTabs', PageTabs)
    if (!import.meta.env.SSR) mendSearchBox()
    // A page that cannot be rendered fails the build. Vue would only print the error.
    app.config.errorHandler = (error) => {
      if (import.meta.env.SSR) process.exitCode = 1
      throw error
    }
  },
  Layout,
}

export default theme
