import type { ReactNode } from 'react'
import { PAGE_STYLE } from './css.ts'

/** The styles of the dashboard. In the component, so that no bundler has to know about style sheets. */
export const Styles = ({ nonce }: { readonly nonce: string | undefined }): ReactNode => (
  <style href="sluice-dashboard" precedence="medium" nonce={nonce}>
    {PAGE_STYLE}
  </style>
)
