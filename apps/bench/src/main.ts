import { parseOptions, usage, type Options } from './options.ts'
import { SCENARIOS } from './scenarios/index.ts'
import { startServers, type Servers } from './servers/servers.ts'
import { writeDocs } from './report/docs.ts'
import { factsText, load, machineFacts } from './report/facts.ts'
import { Progress } from './report/progress.ts'
import { readResults, saveResult, type Result } from './report/result.ts'
import { markdownTable } from './report/table.ts'
import type { Scenario } from './scenarios/scenario.ts'

async function main({ scenarios, rounds, write, render }: Options): Promise<void> {
  if (!render) await measureAll({ scenarios, rounds, write })
  if (render || write) writeDocs(readResults())
}

type Run = Pick<Options, 'scenarios' | 'rounds' | 'write'>

async function measureAll({ scenarios, rounds, write }: Run): Promise<void> {
  const progress = new Progress(rounds)
  await using servers = await startServers()
  console.log(`Medians; rounds: ${rounds}. ${factsText(await machineFacts(servers.redis))}`)
  for (const [index, scenario] of scenarios.entries()) {
    progress.begin(scenario.name, index + 1, scenarios.length)
    const result = await measure(scenario, rounds, servers, progress)
    const table = markdownTable(result.rows, { bars: true })
    console.log(`\n## ${scenario.name}: ${scenario.title}\n\n${table}`)
    if (write) saveResult(result)
  }
}

async function measure(
  scenario: Scenario,
  rounds: number,
  servers: Servers,
  progress: Progress,
): Promise<Result> {
  const facts = await machineFacts(servers.redis)
  const [before, start] = [load(), performance.now()]
  const rows = await scenario.run({ servers, rounds, onRound: progress.round })
  progress.end((performance.now() - start) / 1_000)
  const { name, title } = scenario
  return { scenario: name, title, rounds, load: [before, load()], facts, rows }
}

try {
  const options = parseOptions(process.argv.slice(2), SCENARIOS)
  if (options.help) console.log(usage(SCENARIOS))
  else await main(options)
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}
