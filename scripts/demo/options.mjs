import { parseArgs } from 'node:util'

export const HELP = `Usage: npm run demo -- [options]

Builds the demo app and starts it with a store behind it. The store is Upstash when
UPSTASH_REDIS_REST_URL and UPSTASH_REDIS_REST_TOKEN are set, else a redis-server from the
PATH, else an engine in this process.

  --drive          run a bulk import, a retry storm and a runaway agent, check what came out, end
  --port <number>  the port of the demo (default: 3000, or a free one where that is taken)
  --engine <name>  redis-server or embedded (default: the first if there is one)
  --no-build       start what was built before
  --help           this text

The demo asks a real model when OPENAI_API_KEY and OPENAI_BASE_URL are set (OPENAI_MODEL names
it); a drive never does. Its page gets tokens then only with DEMO_TOKENS=local, because they spend
your money. DEMO_MODEL_LATENCY_MS is how long the stand-in takes.`

const ENGINES = ['redis-server', 'embedded']

/** The options in `args`. Throws an error that says what is wrong with them. */
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
  const upstash = upstashOf(env)
  if (upstash && engine) {
    throw new Error('--engine has no use while UPSTASH_REDIS_REST_URL is set: Upstash is the store')
  }
  return {
    drive,
    help,
    engine,
    upstash,
    build: !values['no-build'],
    port: port === undefined ? undefined : Number(port),
  }
}

function upstashOf({ UPSTASH_REDIS_REST_URL: url, UPSTASH_REDIS_REST_TOKEN: token }) {
  if (!url && !token) return undefined
  if (url && token) return { url, token }
  const missing = url ? 'UPSTASH_REDIS_REST_TOKEN' : 'UPSTASH_REDIS_REST_URL'
  throw new Error(`${missing} is not set, and its companion is: set both, or neither`)
}
