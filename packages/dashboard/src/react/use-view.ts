import { useEffect, useRef, useState } from 'react'
import type { View } from '../view.ts'
import { mergeView } from './merge.ts'

export type Connection = 'connecting' | 'live' | 'lost'

const RETRY_MS = 3_000
const TICK_MS = 1_000

/**
 * Returns what the stream at `url` has said so far, the state of the connection, and the server's time,
 * which goes on each second.
 */
export function useView(url: string): {
  readonly view: View | undefined
  readonly connection: Connection
  readonly now: number
} {
  const [view, setView] = useState<View>()
  const [connection, setConnection] = useState<Connection>('connecting')
  const [now, setNow] = useState(0)
  const offset = useRef(0)

  useEffect(() => {
    let source: EventSource
    let retry: ReturnType<typeof setTimeout> | undefined
    const receive =
      (merge: (view: View | undefined, received: View) => View) => (event: MessageEvent) => {
        const received = JSON.parse(String(event.data)) as View
        offset.current = received.now - Date.now()
        setNow(received.now)
        setView((before) => merge(before, received))
        setConnection('live')
      }
    const onSnapshot = receive((_, snapshot) => snapshot)
    const onUpdate = receive((before, update) => (before ? mergeView(before, update) : update))
    const connect = (): void => {
      source = new EventSource(url)
      source.addEventListener('open', () => setConnection('live'))
      source.addEventListener('snapshot', onSnapshot)
      source.addEventListener('update', onUpdate)
      source.addEventListener('error', () => {
        setConnection('lost')
        // After an answer that is no stream, a browser does not try again by itself.
        if (source.readyState === EventSource.CLOSED) retry = setTimeout(connect, RETRY_MS)
      })
    }
    connect()
    return () => {
      clearTimeout(retry)
      source.close()
    }
  }, [url])

  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now() + offset.current), TICK_MS)
    return () => clearInterval(timer)
  }, [])

  return { view, connection, now }
}
