import type { DashboardState } from '../state/state.ts'

const LOOK_EVERY_MS = 250
/** Shorter than the idle timeouts of proxies, which are 30 s and more. */
const HEARTBEAT_MS = 15_000
const RECONNECT_MS = 2_000

/**
 * Streams a dashboard as server-sent events: `snapshot` has everything, `update` only what has changed. A
 * client that comes back with `Last-Event-ID` gets what it has missed. `onEnd` is called once.
 */
export function streamView(state: DashboardState, request: Request, onEnd: () => void): Response {
  const encoder = new TextEncoder()
  let timer: ReturnType<typeof setInterval> | undefined
  const end = (): void => {
    if (timer === undefined) return
    clearInterval(timer)
    timer = undefined
    onEnd()
  }
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      let sent = versionIn(request.headers.get('last-event-id'), state)
      let epoch = state.epoch
      let sentAt = Date.now()
      const write = (text: string): void => {
        controller.enqueue(encoder.encode(text))
        sentAt = Date.now()
      }
      const look = (): void => {
        state.watch()
        // A slow reader gets all changes at once when it reads on.
        if ((controller.desiredSize ?? 0) < 0) return
        if (epoch !== state.epoch) sent = -1
        if (sent === state.version && Date.now() - sentAt < HEARTBEAT_MS) return
        if (sent === state.version) return write(': still here\n\n')
        const name = sent < 0 ? 'snapshot' : 'update'
        const data = JSON.stringify(state.since(sent))
        sent = state.version
        epoch = state.epoch
        write(`id: ${idOf(state)}\nevent: ${name}\ndata: ${data}\n\n`)
      }
      write(`retry: ${RECONNECT_MS}\n\n`)
      look()
      timer = setInterval(look, LOOK_EVERY_MS)
      const close = (): void => {
        if (timer !== undefined) controller.close()
        end()
      }
      if (request.signal.aborted) close()
      else request.signal.addEventListener('abort', close, { once: true })
    },
    cancel: end,
  })
  const headers = {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store, no-transform',
    // Nginx would hold events back.
    'x-accel-buffering': 'no',
  }
  return new Response(body, { headers })
}

const idOf = ({ run, epoch, version }: DashboardState): string => `${run}.${epoch}.${version}`

/** Returns the version that a client has seen; -1 if it has seen none of this process's counts. */
function versionIn(lastEventId: string | null, state: DashboardState): number {
  const [run, epoch, version] = (lastEventId ?? '').split('.')
  const isKnown = run === state.run && epoch === String(state.epoch) && /^\d+$/.test(version ?? '')
  return isKnown ? Math.min(Number(version), state.version) : -1
}
