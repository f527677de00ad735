import { optionNames, textOf, type Command } from '../command.ts'
import { LIMITER_USAGE } from '../limiter-options.ts'
import { serve } from '../mcp/server.ts'
import { version } from '../version.ts'
import { asTool } from '../wording.ts'

export const mcp: Command = {
  summary: 'these commands as tools for an agent (Model Context Protocol)',
  usage: `Usage: sluice mcp [--allow-changes] [options]

Serves show, why, usage, log, preview, doctor and the documentation as tools, on standard input and output. An agent
starts it. It changes nothing unless you allow it.

  --allow-changes       also serve set and undo
${LIMITER_USAGE}`,

  run(values, _, { folder, stopSignal, run }) {
    const own = optionNames(LIMITER_USAGE).flatMap((name) => {
      const value = textOf(values, name)
      return value === undefined ? [] : [`--${name}=${value}`]
    })
    const options = {
      version: version(),
      folder,
      mayChange: values['allow-changes'] === true,
      run: ([name = '', ...args]: readonly string[]) => asTool(() => run([name, ...own, ...args])),
    }
    const ended = serve(options, stopSignal()).then(() => 0)
    return Promise.resolve({ text: '', json: {}, ended })
  },
}
