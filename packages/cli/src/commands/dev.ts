import type { LocalServer } from '@sluice/local'
import { textOf, type Command } from '../command.ts'
import { startCommand } from '../dev/child-command.ts'
import type { PageServer } from '../dev/page-server.ts'
import { refuse } from '../errors.ts'
import {
  engineText,
  linesOf,
  portOf,
  reportLoss,
  startStore,
  STORE_USAGE,
  untilAbortedOrLost,
  variablesOf,
} from '../local-store.ts'

const DEFAULT_PAGE_PORT = 8078

export const dev: Command = {
  summary: 'a store and a live page beside your app, while you develop',
  usage: `Usage: sluice dev [options] [-- COMMAND]

Runs your command with the variables of a store on this machine and of a live page, until one of them ends. Without a
command it prints the variables, and runs until Ctrl-C. The page shows limiters with relay() of
@sluice/dashboard/relay among their extensions.

${STORE_USAGE}\
  --token TEXT          the bearer token of the store (default: development)
  --page-port NUMBER    show the page on this port, 0 for a free one (default: ${DEFAULT_PAGE_PORT})
`,
  takesArguments: 'after --',

  async run(values, command, { folder, stopSignal }) {
    // Listens to signals before the store is up: an early one must end the redis-server too.
    const signal = stopSignal()
    const pagePort = portOf(textOf(values, 'page-port')) ?? DEFAULT_PAGE_PORT
    if (!(pagePort <= 65_535)) refuse('--page-port must be an integer from 0 to 65535')
    if (pagePort !== 0 && pagePort === portOf(textOf(values, 'port')))
      refuse('--port and --page-port must be two ports')
    const { startPageServer } = await import('../dev/page-server.ts')
    const page = await startPageServer(pagePort)
    const started: { close(): Promise<void> }[] = [page]
    const close = async (): Promise<void> => {
      await Promise.all(started.map((one) => one.close()))
    }
    try {
      const store = await startStore(values, 'development')
      started.push(store)
      const variables = { ...variablesOf(store), ...page.variables }
      const json = { engine: store.engine, page: page.url, variables }
      const head = `${banner(store, page)}\n\n`
      if (command.length === 0 || signal.aborted) {
        const ended = closeAfter(untilAbortedOrLost(store, signal), close)
        return { text: head + linesOf(variables), json, ended }
      }
      // Standard output is the command's.
      process.stderr.write(head)
      const [lost, over] = [new AbortController(), new AbortController()]
      const env = { ...process.env, ...variables }
      const child = await startCommand(command, folder, env, AbortSignal.any([signal, lost.signal]))
      void reportLoss(store, AbortSignal.any([signal, over.signal])).then((isLost) => {
        if (isLost) lost.abort('SIGTERM')
      })
      const ended = child.ended.then((exitCode) => {
        over.abort()
        return lost.signal.aborted ? 1 : exitCode
      })
      return { text: '', json, ended: closeAfter(ended, close) }
    } catch (error) {
      await close()
      throw error
    }
  },
}

async function closeAfter<T>(end: Promise<T>, close: () => Promise<void>): Promise<T> {
  try {
    return await end
  } finally {
    await close()
  }
}

const banner = (store: LocalServer, page: PageServer): string =>
  `Sluice dev: a store and a live page, for development

  page    ${page.url}
  store   ${store.url}
  engine  ${engineText(store)}`
