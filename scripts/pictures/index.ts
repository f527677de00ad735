// Draws the pictures of the docs. Run it by `npm run docs:pictures`.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { localCounts } from './local-counts.ts'
import { middlewareAndWrapper } from './middleware-and-wrapper.ts'
import { request } from './request.ts'
import { reservation } from './reservation.ts'
import { svg } from './svg.ts'
import { windows } from './windows.ts'

/** Returns each picture by the name of its file. */
export async function drawPictures(): Promise<ReadonlyMap<string, string>> {
  return new Map([
    ['request.svg', svg(request())],
    ['reservation.svg', svg(reservation())],
    ['windows.svg', svg(await windows())],
    ['local.svg', svg(localCounts())],
    ['middleware-and-wrapper.svg', svg(middlewareAndWrapper())],
  ])
}

if (import.meta.main) {
  const folder = fileURLToPath(new URL('../../docs/pictures', import.meta.url))
  mkdirSync(folder, { recursive: true })
  for (const [name, picture] of await drawPictures()) writeFileSync(join(folder, name), picture)
}
