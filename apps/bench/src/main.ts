import { parseOptions, usage, type Options } from './options.ts'
import { SCENARIOS } from './scenarios/index.ts'
import { startServers } from './servers/servers.ts'
import { markdownTable, type Row } from './measure/table.ts'

async function main({ scenarios, rounds }: Options): Promise<void> {
  await using servers = await startServers()
  const rows: Row[] = []
  for (const scenario of scenarios) {
    process.stderr.write(`${scenario.name}: ${scenario.title}\n`)
    rows.push(...(await scenario.run({ servers, rounds })))
  }
  const redis = /^redis_version:(\S+)/m.exec(await servers.redis.info('server'))?.[1]
  console.log(`Medians of ${rounds} rounds, Node ${process.versions.node}, Redis ${redis}\n`)
  console.log(markdownTable(rows))
}

try {
  const options = parseOptions(process.argv.slice(2), SCENARIOS)
  if (options.help) console.log(usage(SCENARIOS))
  else await main(options)
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}
