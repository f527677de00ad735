/* Bundled for each runtime: a Worker, or a program of Node.js that answers on its standard output. */
import { clocksHere, compareHere } from './runtime.ts'
import type { Sample } from './compare.ts'

/** Answers with the clocks, or with a comparison if the query names a version. */
function answer(query: URLSearchParams): unknown {
  const version = query.get('version')
  if (version === null) return clocksHere()
  return compareHere(version, query.getAll('zone'), query.get('sample') as Sample)
}

export default {
  fetch: (request: Request): Response => Response.json(answer(new URL(request.url).searchParams)),
}

const query = globalThis.process?.argv?.[2]
if (query !== undefined) console.log(JSON.stringify(answer(new URLSearchParams(query))))
