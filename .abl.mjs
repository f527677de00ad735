import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
const t = readFileSync('/tmp/parts.txt', 'utf8'); const js = t.slice(t.indexOf('var w=class'), t.lastIndexOf('export{') + 20)
const gz = (s) => gzipSync(s, { level: 9 }).length
const base = gz(js); console.log(base)
for (const cut of JSON.parse(readFileSync('/tmp/cuts.json', 'utf8'))) { const out = js.replace(cut, ''); console.log(base - gz(out), js.length - out.length, cut.slice(0, 90)) }
