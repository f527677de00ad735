/* The part of the page that runs in a browser. `scripts/bundle-page.mjs` bundles it with React. */
import { createRoot } from 'react-dom/client'
import { Dashboard } from '../react/dashboard.tsx'

const root = document.querySelector<HTMLElement>('main > div')
const { url, nonce } = root?.dataset ?? {}
if (root && url !== undefined && nonce !== undefined) {
  createRoot(root).render(<Dashboard url={url} nonce={nonce} />)
}
