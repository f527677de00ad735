import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { filesOf, startPage } from '../start-pages.ts'
import { answering, freePort, run, start, stop } from './processes.mjs'

/** The frameworks that `sluice init` knows: each has a page to start with, and what the page takes for granted. */
export const FRAMEWORKS = {
  // With types, as create-next-app makes it: in a CI, Next.js does not install them by itself.
  nextjs:
    'npm install next react react-dom typescript @types/node @types/react && npm pkg set scripts.dev="next dev"',
  sveltekit: 'npx --yes sv@0.17.1 create . --template minimal --types ts --no-add-ons --no-install',
  astro: '',
  cloudflare: '',
  'durable-objects': '',
  hono: '',
  express: '',
  fastify: '',
  h3: '',
}

const root = new URL('../../', import.meta.url)
const SHELL = /```sh\n([^]*?)```/
const section = (page, title) => page.split(/^## /m).find((part) => part.startsWith(title)) ?? ''
const shared = readFileSync(new URL('docs/start/README.md', root), 'utf8')
/** A new secret, as the pages make it. */
const SECRET = /^echo "JWT_SECRET=.*$/m
const CURL = /^curl [^`]*?[^\\](?=\n)/m
const TOKEN = '$(npx @sluice/cli token --tenant acme)'

/** Follows a page from an empty folder: its commands, its files, its first call, and 24 more. */
export async function tryPage(folder, name, context) {
  const page = startPage(name)
  const secrets = secretsOf(name)
  const own = section(page, '4. Call it')
  await prepare(folder, name, context)
  await install(folder, SHELL.exec(section(page, '1. Install'))[1], name, context)
  for (const [path, text] of filesOf(page)) write(folder, path, text)
  if (page.includes('README.md#a-store-and-a-secret') || page.includes('(README.md)')) {
    write(folder, secrets, storeLines(context))
  }
  const [secret] = SECRET.exec(page) ?? SECRET.exec(shared)
  await run(folder, secret.replace(/ \.env$/, ` ${secrets}`), context.env)
  const command =
    /^node [^\n]*/m.exec(own)?.[0] ??
    /Start it by `([^`]+)`/.exec(own)?.[1] ??
    /^node [^\n]*server\.ts/m.exec(shared)[0]
  const [call] = CURL.exec(own) ?? CURL.exec(section(shared, 'Call it'))
  // The app's own script.
  const isKit = name === 'sveltekit'
  return callIt(folder, isKit ? command.replace('npm run', 'npx vite') : command, call, context)
}

/** Lets `sluice init` write the files, and follows what it prints. */
export async function tryInit(folder, name, context) {
  // It makes an app of every framework but this one.
  if (name === 'sveltekit') await prepare(folder, name, context)
  const line = `npx --yes @sluice/cli init --framework ${name} --yes`
  const [, next = ''] = (await run(folder, line, context.env)).split('Next:\n')
  const commands = next.split('\n').map((each) => each.trim().replace(/ {2,}#.*/, ''))
  const [command, call] = commands.slice(-2)
  for (const each of commands.slice(0, -2)) {
    if (each.startsWith('npm ')) await install(folder, each, name, context)
  }
  const path = join(folder, secretsOf(name))
  const variables = readFileSync(path, 'utf8').replace(/^UPSTASH_.*\n/gm, '')
  writeFileSync(path, variables + storeLines(context))
  return callIt(folder, command, call, context)
}

const secretsOf = (name) => (/cloudflare|objects/.test(name) ? '.dev.vars' : '.env')
const storeLines = ({ local }) =>
  `UPSTASH_REDIS_REST_URL=${local.url}\nUPSTASH_REDIS_REST_TOKEN=${local.token}\n`

async function prepare(folder, name, context) {
  // The tools that create apps want an empty folder.
  if (!FRAMEWORKS[name].startsWith('npx')) write(folder, 'package.json', '{}')
  if (FRAMEWORKS[name] !== '') await install(folder, FRAMEWORKS[name], name, context)
}

/** Runs commands that install packages, those of others in the versions that the example of the framework has. */
async function install(folder, commands, name, { env }) {
  const example = name === 'durable-objects' ? 'cloudflare' : name
  const manifest = JSON.parse(readFileSync(new URL(`examples/${example}/package.json`, root)))
  const versions = { ...manifest.dependencies, ...manifest.devDependencies }
  const pinned = commands.replaceAll(/(?<= )(@?[a-z][\w./-]*)(?= |$)/gm, (word) =>
    Object.hasOwn(versions, word) && !word.startsWith('@sluice/')
      ? `${word}@${versions[word]}`
      : word,
  )
  for (const line of pinned.trim().split('\n')) {
    await run(
      folder,
      line.replaceAll('npm install', 'npm install --no-fund --no-audit --prefer-offline'),
      env,
    )
  }
}

/** Starts the app by its command on a free port, and makes the call that is shown. */
async function callIt(folder, command, call, { env }) {
  const port = await freePort()
  const takesPort = /wrangler|vite dev/.test(command)
  const line = takesPort ? `${command} --port ${port}` : command.replace('3000', port)
  const child = start(folder, line, { ...env, PORT: `${port}` })
  try {
    await answering(`http://localhost:${port}`, child)
    const curl = call
      .replace(TOKEN, '$JWT')
      .replace(/^curl -i/m, "curl -s -o /dev/null -w '%{http_code} '")
      .replace(/localhost:\d+/, `localhost:${port}`)
    // A development server may start anew when it has found what the app needs.
    const patient = curl.replace(/^curl/m, 'curl --retry 5 --retry-all-errors')
    const others = curl.replace(/^curl/m, 'for i in $(seq 24); do curl') + '; done'
    let statuses = []
    let denied = 0
    // On a busy machine, 25 calls may take longer than the minute of the limit, or the store longer than its timeout:
    // then another tenant makes them.
    for (const tenant of ['acme', 'globex', 'initech']) {
      const jwt = await run(folder, `echo ${TOKEN.replace('acme', tenant)}`, env)
      const withToken = { ...env, JWT: jwt }
      const first = await run(folder, patient, withToken)
      statuses = `${first} ${await run(folder, others, withToken)}`.trim().split(/\s+/)
      denied = statuses.filter((status) => status === '429').length
      if (denied === 5) break
    }
    return [
      {
        claim: 'its first call is answered',
        error: statuses[0] === '200' ? undefined : `${statuses[0]}\n${child.output()}`,
      },
      {
        claim: 'five of 25 calls are denied',
        error: denied === 5 ? undefined : statuses.join(' '),
      },
    ]
  } finally {
    await stop(child)
  }
}

function write(folder, path, text) {
  mkdirSync(dirname(join(folder, path)), { recursive: true })
  writeFileSync(join(folder, path), text)
}
