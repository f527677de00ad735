import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { asText } from '../../adapters/connections.ts'
import { raw } from '../support/raw.ts'
import { canonical, type SetUp } from '../support/set-up.ts'

/** Refused requests for each way to hang up: half of them are denied, the others have no subject. */
const REQUESTS = 400
/** Those of them that are sent at once. */
const BATCH = 50

const PATHS = ['/api/ai/evaluate', '/api/both/evaluate', '/api/wrapped/evaluate']

type Headers = Readonly<Record<string, string>>

interface Way {
  readonly name: string
  /** Requests that are sent at once on one connection. @default 1 */
  readonly inRow?: number
  /** Bytes that are sent with the request, behind its end. @default none */
  readonly trailing?: string
  readonly hangUp: (sockets: readonly Socket[]) => Promise<unknown>
}

const WAYS: readonly Way[] = [
  { name: 'after 0 to 45 ms', hangUp: resetInTurn },
  { name: 'after 0 to 45 ms, with others behind it', inRow: 5, hangUp: resetInTurn },
  {
    name: 'by closing its half of the connection',
    hangUp(sockets) {
      for (const socket of sockets) socket.end()
      return allClosed(sockets)
    },
  },
  { name: 'by bytes behind the end of the request', trailing: 'xx', hangUp: allClosed },
]

/** Resets connections before, while and after they are decided. */
async function resetInTurn(sockets: readonly Socket[]): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) {
    sockets.forEach((socket, index) => index % 10 === turn && socket.resetAndDestroy())
    await setTimeout(5)
  }
}

function allClosed(sockets: readonly Socket[]): Promise<unknown> {
  const open = sockets.filter(({ closed }) => !closed)
  return Promise.all(open.map((socket) => once(socket, 'close')))
}

/** Clients that hang up get nothing past their budget, nor past the identification. */
export function describeHangUps(setUp: () => SetUp): void {
  describe.each(PATHS)(
    `of ${REQUESTS} refused requests to %s whose clients hang up, none runs its handler`,
    (path) => {
      it.each(WAYS)('$name', async (way) => {
        expect(await countRuns(setUp(), canonical(setUp(), path), way)).toBe(0)
      })
    },
  )
}

/** Sends refused requests whose clients hang up in one way. Returns how often the handler has run for them. */
async function countRuns(
  setUp: SetUp,
  path: string,
  { inRow = 1, trailing = '', hangUp }: Way,
): Promise<number> {
  const { hostname, port, host } = new URL(setUp.url)
  const ask = (headers: Headers) => raw(setUp.url, { path, headers })
  const runs = async (headers: Headers) => {
    const report = { path: canonical(setUp, '/api/report'), method: 'GET', headers }
    return Number((await raw(setUp.url, report)).body.toString())
  }
  const spent = { 'x-tenant': randomUUID(), 'x-plan': 'one' }
  await ask(spent)
  let count = 0
  for (const headers of [spent, {}]) {
    const before = await runs(headers)
    for (let sent = 0; sent < REQUESTS / 2; sent += BATCH) {
      const sockets = Array.from({ length: BATCH / inRow }, () => connect(Number(port), hostname))
      await Promise.all(sockets.map((socket) => once(socket, 'connect')))
      for (const socket of sockets) {
        // The server resets some connections, too.
        socket.on('error', () => {}).resume()
        socket.write(asText(host, { path, headers, body: '' }).repeat(inRow) + trailing)
      }
      await hangUp(sockets)
    }
    // It takes as long as those before it, which are over after it.
    await ask(headers)
    await ask(headers)
    count += (await runs(headers)) - before
  }
  return count
}
