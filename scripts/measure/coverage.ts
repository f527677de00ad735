import { Session } from 'node:inspector/promises'

/** The built code of packages that ran. */
export interface Coverage {
  /** The files of which a function ran. */
  readonly files: number
  /** The calls of functions. A module that begins is none. */
  readonly calls: number
}

const BUILT = /\/packages\/[^/]+\/dist\//

/** Counts the files and function calls of `work`, by the exact coverage of V8. */
export async function coverageOf(work: () => Promise<unknown>): Promise<Coverage> {
  const session = new Session()
  session.connect()
  try {
    await session.post('Profiler.enable')
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
    // Reading sets all counts to zero.
    await session.post('Profiler.takePreciseCoverage')
    await work()
    const { result } = await session.post('Profiler.takePreciseCoverage')
    const counts = result
      .filter(({ url }) => BUILT.test(url))
      .map(({ functions }) =>
        sum(functions.map(({ ranges: [all] }) => (all?.startOffset ? all.count : 0))),
      )
    return { files: counts.filter((count) => count > 0).length, calls: sum(counts) }
  } finally {
    await session.post('Profiler.stopPreciseCoverage')
    session.disconnect()
  }
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)
