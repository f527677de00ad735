/** A request of Node.js, or whatever a platform has in its place. One over HTTP/2 has a stream. */
export type MaybeNodeRequest =
  | {
      readonly httpVersionMajor: number
      readonly socket: Closing
      readonly stream?: {
        readonly closed: boolean
        once(event: 'end', listener: () => void): unknown
        destroy(): unknown
      }
    }
  | undefined

/** A response of Node.js. One over HTTP/1.1 that waits for others on its connection has no socket. */
export interface MaybeWaitingResponse extends Closing {
  readonly socket?: object | null
  destroyed: boolean
  emit(event: 'close'): unknown
}

interface Closing {
  readonly destroyed: boolean
  once(event: 'close', listener: () => void): unknown
}

/**
 * Closes the response to a client that is gone in two cases that Node.js tells no framework of. Over HTTP/2, it keeps
 * an answer that its client has reset with `NO_ERROR` before reading it. Over HTTP/1.1, Node.js 20 and 22 do not close
 * a response that waits for others on a lost connection, as Node.js 24 does.
 */
export function closeWithClient(
  incoming: MaybeNodeRequest,
  response: MaybeWaitingResponse | undefined,
): void {
  // By its version first: a platform's binding of that name may answer to every property.
  if (incoming?.httpVersionMajor === 2) {
    const { stream } = incoming
    // At a reset, Node.js ends the half that it reads. If that has ended before, it destroys the stream itself.
    stream?.once('end', () => {
      if (stream.closed) stream.destroy()
    })
  } else if (incoming?.httpVersionMajor === 1 && response && isWaiting(response)) {
    closeWithSocket(incoming.socket, response)
  }
}

const isWaiting = ({ socket, destroyed }: MaybeWaitingResponse): boolean =>
  socket === null && !destroyed

/** The responses that wait for a socket: one listener for all, because Node.js warns of more than ten. */
const waiting = new WeakMap<Closing, Set<MaybeWaitingResponse>>()

function closeWithSocket(socket: Closing, response: MaybeWaitingResponse): void {
  if (socket.destroyed) {
    close(response)
    return
  }
  let responses = waiting.get(socket)
  if (responses === undefined) {
    const added = (responses = new Set())
    waiting.set(socket, added)
    socket.once('close', () => {
      for (const lost of added) if (isWaiting(lost)) close(lost)
    })
  }
  const known = responses.add(response)
  response.once('close', () => known.delete(response))
}

/** Closes a response as Node.js 24 does. `destroy` closes none without a socket, before Node.js 24. */
function close(response: MaybeWaitingResponse): void {
  response.destroyed = true
  response.emit('close')
}
