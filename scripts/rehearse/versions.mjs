import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { run } from './processes.mjs'

const packages = new URL('../../packages/', import.meta.url)
/** The peers of the packages, in the versions that their user has. */
const PEERS = 'react react-dom next @opentelemetry/api'

/** The versions of Node.js on which the packages are to run, each by its package of npm. */
export const NODES = ['20', '22', '24']

/** Installs all packages beside a version of Node.js, loads every entry that runs there, and makes decisions. */
export async function tryVersion(folder, version, { env }) {
  const manifests = readdirSync(packages).map((name) =>
    JSON.parse(readFileSync(new URL(`${name}/package.json`, packages), 'utf8')),
  )
  const entries = manifests.flatMap(({ name, exports }) =>
    Object.keys(exports)
      .filter((path) => !path.includes('*') && !/\.(?:json|yml)$/.test(path))
      .map((path) => name + path.slice(1)),
  )
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  const names = manifests.map(({ name }) => name).join(' ')
  const flags = '--no-fund --no-audit --prefer-offline'
  await run(folder, `npm install ${flags} node@${version} ${names} ${PEERS}`, env)
  writeFileSync(
    join(folder, 'try.mjs'),
    `import { createLimiter, slidingWindow } from '@sluice/core'
    import { memory } from '@sluice/core/memory'
    const failed = []
    for (const entry of ${JSON.stringify(entries)}) {
      // Entries that extend a class of workerd, or are a part of Next.js or a framework, run there.
      await import(entry).catch(({ code, message }) => {
        if (!/cloudflare:|Cannot find (?:package|module) '(?!@sluice)/.test(message)) failed.push([entry, code, message])
      })
    }
    const policies = [slidingWindow({ name: 'rpm', limit: 20, window: '1m', per: ['tenant'] })]
    const limiter = createLimiter({ store: memory(), policies })
    const made = await Promise.all(Array.from({ length: 25 }, () => limiter.check({ tenant: 'acme' })))
    console.log(JSON.stringify([process.version, made.filter(({ allowed }) => allowed).length, failed]))`,
  )
  const out = await run(folder, 'node_modules/node/bin/node try.mjs', env)
  const [node, allowed, failed] = JSON.parse(out.split('\n').at(-1))
  const command = await run(
    folder,
    'node_modules/node/bin/node node_modules/.bin/sluice --version',
    env,
  )
  const isRight = node.startsWith(`v${version}.`) && allowed === 20
  return [
    { claim: `${entries.length} entries load`, error: failed.length > 0 && JSON.stringify(failed) },
    { claim: '20 of 25 are allowed', error: isRight ? undefined : `${node}: ${allowed}` },
    { claim: 'the command runs', error: /\d+\.\d+\.\d+/.test(command) ? undefined : command },
  ]
}
