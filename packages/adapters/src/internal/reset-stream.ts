/** A request of Node.js, or whatever a platform has in its place. One over HTTP/2 has a stream. */
export type MaybeNodeRequest =
  | {
      readonly httpVersionMajor: number
      readonly stream?: {
        readonly closed: boolean
        once(event: 'end', listener: () => void): unknown
        destroy(): unknown
      }
    }
  | undefined

/**
 * Destroys the stream of a request over HTTP/2 when its client has reset it. After a reset with `NO_ERROR`, Node.js
 * keeps an answer that the client has not read, and no framework is told that it is over.
 */
export function destroyWhenReset(incoming: MaybeNodeRequest): void {
  // By its version first: a platform's binding of that name may answer to every property.
  if (incoming?.httpVersionMajor !== 2) return
  const { stream } = incoming
  // At a reset, Node.js ends the half that it reads. If that has ended before, it destroys the stream itself.
  stream?.once('end', () => {
    if (stream.closed) stream.destroy()
  })
}
