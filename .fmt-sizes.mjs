import { build } from 'esbuild'
import { gzipSync } from 'node:zlib'
const root = process.cwd()
const list = { meter: "export { meter } from '@sluice/ai'", modelUsage: "export { meterModel, usageOfAiSdk } from '@sluice/ai'", all: "export { estimateTokens, tokenCounter, estimateRequest, definePrices, findPrice, priceOf, meter, meterStream, meterModel, usageOfAiSdk } from '@sluice/ai'",
 priceOf: "export { priceOf, definePrices } from '@sluice/ai'", list: "export { priceOf, LIST_PRICES } from '@sluice/ai'",
 modelHandler: "export { modelHandler } from '@sluice/ai'", limitedFetch: "export { limitedFetch } from '@sluice/ai'", limitedModel: "export { limitedModel } from '@sluice/ai'" }
for (const f of ['gemini','bedrock','cohere','ollama','workersAi','uiMessageStream']) list['meter+'+f] = `export { meter } from '@sluice/ai'; export { ${f} } from '@sluice/ai/formats'`
for (const [n, contents] of Object.entries(list)) { try {
 const external = n.startsWith('modelH')||n.startsWith('limited') ? ['@sluice/core','@sluice/core/*'] : []
 const { outputFiles } = await build({ absWorkingDir: root, stdin: { contents, resolveDir: root + '/test' }, bundle: true, minify: true, write: false, format: 'esm', platform: 'browser', conditions: ['workerd','worker','import'], external, logLevel: 'silent' })
 console.log(n, gzipSync(outputFiles[0].contents, { level: 9 }).length) } catch (e) { console.log(n, 'n/a', String(e.errors?.[0]?.text ?? e).slice(0, 80)) } }
