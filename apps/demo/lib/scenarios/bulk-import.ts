import type { Scenario, Traffic } from './scenario'

const NEIGHBOURS = ['growth-1', 'professional-1'] as const
const WINDOW_MS = 10_000

/** One tenant floods a route, and its neighbours notice nothing; then one floods a GPU that all of them share. */
export const bulkImport: Scenario = {
  id: 'bulk-import',
  title: 'Bulk import',
  story:
    'starter-1 imports 200 items as fast as it can, at a limit of 20 a minute. Two neighbours work as usual, and are never refused. Then enterprise-1 imports on a GPU with 40 requests in 10 seconds for all tenants, and the neighbours join it. The same traffic goes to two routes: without shares the neighbours are mostly refused; with fair shares they are answered after one window.',
  tenants: ['starter-1', ...NEIGHBOURS, 'enterprise-1'],
  async run(traffic) {
    await importOnOwnLimit(traffic)
    const [without, within] = await Promise.all([
      importOnOneGpu(traffic, 'summarize-unshared'),
      importOnOneGpu(traffic, 'summarize'),
    ])
    traffic.conclude(
      `After one window on the GPU, without shares: ${without}. With fair shares: ${within}.`,
    )
  },
}

async function importOnOwnLimit({ ask, each, pause }: Traffic): Promise<void> {
  const importItems = each(200, 8, async (item) => {
    await ask('starter-1', 'evaluate', `item-${item}`)
    await pause(200)
  })
  const work = each(2, 2, async (index) => {
    for (let count = 0; count < 20; count += 1) {
      await ask(NEIGHBOURS[index] ?? 'growth-1', 'evaluate')
      await pause(150)
    }
  })
  await Promise.all([importItems, work])
}

type Phase = 'alone' | 'together' | 'counted' | 'over'

/** Resolves to what the import and the neighbours got, after their first window together. */
async function importOnOneGpu({ ask, each, pause }: Traffic, route: string): Promise<string> {
  const run = { phase: 'alone' as Phase, imported: 0, asked: 0, answered: 0 }
  const isOver = (): boolean => run.phase === 'over'
  const importItems = each(12, 12, async () => {
    while (!isOver()) {
      const isCounted = run.phase === 'counted'
      const { status } = await ask('enterprise-1', route)
      if (isCounted && status === 200) run.imported += 1
      // The neighbours come as soon as the GPU is full.
      if (run.phase === 'alone' && status === 429) run.phase = 'together'
      await pause(500)
    }
  })
  const work = each(2, 2, async (index) => {
    while (run.phase === 'alone') await pause(50)
    while (!isOver()) {
      const isCounted = run.phase === 'counted'
      const { status } = await ask(NEIGHBOURS[index] ?? 'growth-1', route)
      if (isCounted) run.asked += 1
      if (isCounted && status === 200) run.answered += 1
      await pause(2_000)
    }
  })
  const keepTime = async (): Promise<void> => {
    while (run.phase === 'alone') await pause(50)
    await pause(WINDOW_MS)
    run.phase = 'counted'
    await pause(1.2 * WINDOW_MS)
    run.phase = 'over'
  }
  await Promise.all([importItems, work, keepTime()])
  return `${run.answered} of the neighbours’ ${run.asked} requests, ${run.imported} of the import`
}
