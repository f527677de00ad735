// Bundles the browser part of the page with React, as a text in a module: `dashboardPage` writes it into the document.
// It reads and writes what tsc has made in dist.
import { rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const folder = fileURLToPath(new URL('../dist/page/', import.meta.url))
// uPlot's licence is in a comment that minifiers do not keep.
const licence = '/*! uPlot, copyright (c) Leon Sorokin, MIT License: github.com/leeoniya/uPlot */'

const { outputFiles } = await build({
  entryPoints: [`${folder}browser.js`],
  bundle: true,
  minify: true,
  format: 'iife',
  target: 'es2022',
  define: { 'process.env.NODE_ENV': '"production"' },
  banner: { js: licence },
  legalComments: 'inline',
  charset: 'utf8',
  logLevel: 'warning',
  write: false,
})
// Within <script>, these would begin or end a state of HTML's parser.
const script = outputFiles[0].text.replaceAll(/<(?=!--|\/?script)/gi, '\\x3C')
writeFileSync(`${folder}script.js`, `export const SCRIPT = ${JSON.stringify(script)}\n`)

// Now in the bundle, and React's DOM is no dependency of this package.
for (const name of ['browser.js', 'browser.d.ts']) rmSync(`${folder}${name}`)
