import type { Command } from '../command.ts'
import type { Finding } from '../doctor/finding.ts'
import { judgeEviction } from '../doctor/eviction.ts'
import { judgePackages } from '../doctor/packages.ts'
import { judgeStore } from '../doctor/store.ts'
import { limiterFor, LIMITER_OPTIONS, LIMITER_USAGE } from '../limiter-options.ts'

export const doctor: Command = {
  summary: 'find out what is wrong with your set-up',
  usage: `Usage: sluice doctor [options]

Looks at the store, its clock and eviction, your policies and the packages that are installed. It charges nothing. Each
finding has its remedy; the exit code is 1 if there are any.

${LIMITER_USAGE}`,
  options: LIMITER_OPTIONS,

  async run(values, _, { folder }) {
    const { limiter, file } = await limiterFor(values, folder)
    const ofStore = await judgeStore(limiter)
    const findings: readonly Finding[] = [
      ...ofStore,
      ...(await judgeEviction(process.env)),
      ...judgePackages(folder),
    ]
    const lines = findings.flatMap(({ code, text, remedy }) => [`${code}: ${text}`, `  ${remedy}`])
    return {
      text:
        findings.length === 0 ? `Nothing is wrong with ${file} and its store.` : lines.join('\n'),
      json: { file, findings },
      exitCode: findings.length === 0 ? 0 : 1,
    }
  },
}
