import type { Command } from '../command.ts'
import { findingLines, type Finding } from '../doctor/finding.ts'
import { judgeCache } from '../doctor/cache.ts'
import { judgeCounts } from '../doctor/counts.ts'
import { judgeDatabase } from '../doctor/database.ts'
import { judgePackages } from '../doctor/packages.ts'
import { judgePolicies } from '../doctor/policies.ts'
import { judgePrices } from '../doctor/prices.ts'
import { judgeRetries } from '../doctor/retries.ts'
import { judgeRoutes } from '../doctor/routes.ts'
import { judgeStore } from '../doctor/store.ts'
import { judgeVariables } from '../doctor/variables.ts'
import { limiterFor, LIMITER_USAGE } from '../limiter-options.ts'
import { readProject } from '../source/project-source.ts'

export const doctor: Command = {
  summary: 'find out what is wrong with your set-up',
  usage: `Usage: sluice doctor [options]

Looks at the store, its clock, eviction and writes, your policies, the packages that are installed and the source files
of this folder, which it does not run. It charges nothing. Each finding has its remedy; the exit code is 1 if there are
any.

${LIMITER_USAGE}`,

  async run(values, _, { folder }) {
    const { limiter, file } = await limiterFor(values, folder)
    const source = readProject(folder)
    const store = await judgeStore(limiter)
    const database = store.isShared ? await judgeDatabase(limiter) : undefined
    const findings: readonly Finding[] = [
      ...store.findings,
      ...(database?.findings ?? []),
      ...(await judgePolicies(limiter, source)),
      ...(await judgeCounts(limiter)),
      ...judgeRoutes(source),
      ...judgeCache(source),
      ...judgeRetries(source),
      ...judgeVariables(source, process.env),
      ...(await judgePrices(source, Date.now())),
      ...judgePackages(folder),
    ]
    const unknown = database?.unknown ?? []
    const unread = [...source.unread]
    const lines = findingLines(findings)
    if (findings.length === 0) lines.push(`Nothing is wrong with ${file} and its store.`)
    if (unknown.length > 0) lines.push(...unknown.map((question) => `Not known: ${question}`))
    if (unread.length > 0) lines.push(`Could not be read: ${unread.join(', ')}`)
    return {
      text: lines.join('\n'),
      json: { file, findings, unknown, unread },
      exitCode: findings.length === 0 ? 0 : 1,
    }
  },
}
