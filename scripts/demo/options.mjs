import { parseArgs } from 'node:util'

export const HELP = `Usage: npm run demo -- [options]

Builds the demo app and starts it with a store. The store is Upstash when
UPSTASH_REDIS_REST_URL and UPSTASH_REDIS_REST_TOKEN are set, else a redis-server from the
PATH, else an engine in this process.

  --drive          run a bulk import, a retry storm and a runaway agent, check the results, end
  --port <number>  the port of the demo (default: 3000, or a free one if 3000 is in use)
  --engine <name>  redis-server or embedded (default: redis-server if there is one)
  --no-build       start the last build
  --help           print this text

Environment variables:

  OPENAI_API_KEY, OPENAI_BASE_URL  call this model instead of a stand-in; --drive never does
  OPENAI_MODEL                     the name of the model
  DEMO_TOKENS=local                let the page of this machine spend your money on a real model
  DEMO_MODEL_LATENCY_MS            the milliseconds that the stand-in takes for an answer`

const ENGINES = ['redis-server', 'embedded']

/** Parses `args`. Throws an error that names the invalid option. */
export function parseOptions(args, env) {
  const { values } = parseArgs({
    args,
    options: {
      drive: { type: 'boolean', default: false },
      port: { type: 'string' },
      engine: { type: 'string' },
      'no-build': { type: 'boolean', default: false },
      help: { type: 'boolean', default: false, short: 'h' },
    },
  })
  const { drive, help, port, engine } = values
  if (port !== undefined && !(/^\d{1,5}$/.test(port) && Number(port) <= 65_535)) {
    throw new Error(`--port must be a number from 0 to 65535, not "${port}"`)
  }
  if (engine !== undefined && !ENGINES.includes(engine)) {
    throw new Error(`--engine must be ${ENGINES.join(' or ')}, not "${engine}"`)
  }
  const { UPSTASH_REDIS_REST_URL: url, UPSTASH_REDIS_REST_TOKEN: token } = env
  const [set, missing] = url ? ['URL', 'TOKEN'] : ['TOKEN', 'URL']
  if (!url !== !token) {
    throw new Error(
      `UPSTASH_REDIS_REST_${missing} is not set: set it beside UPSTASH_REDIS_REST_${set}, or neither`,
    )
  }
  if (url && engine) {
    throw new Error(
      '--engine has no effect while UPSTASH_REDIS_REST_URL is set: remove one of the two',
    )
  }
  return {
    drive,
    help,
    engine,
    upstash: url && { url, token },
    build: !values['no-build'],
    port: port === undefined ? undefined : Number(port),
  }
}
