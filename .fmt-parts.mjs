import { build } from 'esbuild'
import { gzipSync } from 'node:zlib'
const contents = process.argv[2] ?? "export { meter } from '@sluice/ai'"
const r = await build({ absWorkingDir: process.cwd(), stdin: { contents, resolveDir: process.cwd() + '/test' }, bundle: true, minify: true, write: false, metafile: true, format: 'esm', platform: 'browser', conditions: ['workerd','worker','import'] })
for (const [k, v] of Object.entries(Object.values(r.metafile.outputs)[0].inputs).sort((a,b)=>b[1].bytesInOutput-a[1].bytesInOutput)) console.log(v.bytesInOutput, k)
console.log(r.outputFiles[0].text)
console.log(gzipSync(r.outputFiles[0].contents, { level: 9 }).length)
