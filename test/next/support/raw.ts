import { request as send, type OutgoingHttpHeaders } from 'node:http'

/** A request that is sent as it is written: `fetch` would tidy its path first. */
export interface RawRequest {
  /** The request target, literally. */
  readonly path: string
  /** @default 'POST' */
  readonly method?: string
  /** A list is sent as that many headers. */
  readonly headers?: OutgoingHttpHeaders
  readonly body?: string | Uint8Array
}

/** The answer. */
export interface RawResponse {
  readonly status: number
  /** By name in lower case; each time it was sent. */
  readonly headers: Readonly<Record<string, readonly string[]>>
  readonly body: Buffer
}

/** Sends a request to an origin. */
export function raw(origin: string, { path, method = 'POST', headers, body }: RawRequest) {
  return new Promise<RawResponse>((resolve, reject) => {
    const { hostname, port } = new URL(origin)
    const outgoing = send({ hostname, port, method, path, headers: headers ?? {} }, (incoming) => {
      const chunks: Buffer[] = []
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
      incoming.on('error', reject)
      incoming.on('end', () => {
        const { statusCode: status = 0, headersDistinct } = incoming
        resolve({ status, headers: headersDistinct as never, body: Buffer.concat(chunks) })
      })
    })
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}
