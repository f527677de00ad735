import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** The pages of the docs, beside the demo. */
const DOCS = join(process.cwd(), '../../docs')
/** Names of pages: no `..`, and nothing that is hidden. */
const NAME = /^[a-z\d-]+(\/[a-z\d-]+)*\.md$/

/** Serves the docs of this repository as they are written. */
export async function GET(
  _: Request,
  { params }: RouteContext<'/docs/[...path]'>,
): Promise<Response> {
  const path = (await params).path.join('/')
  const text = NAME.test(path) ? await readFile(join(DOCS, path), 'utf8').catch(() => null) : null
  if (text === null) return new Response('Page not found.\n', { status: 404 })
  return new Response(text, { headers: { 'content-type': 'text/plain; charset=utf-8' } })
}
