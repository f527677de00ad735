import { randomBytes } from 'node:crypto'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { startPage } from '../start-pages.ts'
import { probe } from './probe.mjs'
import { answering, freePort, run, start, stop } from './processes.mjs'

const examples = new URL('../../examples/', import.meta.url).pathname

/** Installs, builds and starts a copy of an example, and checks what it promises. */
export async function tryExample(folder, name, { env, local, model, version }) {
  cpSync(join(examples, name), folder, {
    recursive: true,
    filter: (path) => basename(path) !== 'node_modules',
  })
  const { scripts } = asPublished(folder, version)
  await run(folder, 'npm install --no-fund --no-audit --prefer-offline', env)
  if (scripts.build) await run(folder, 'npm run build', env)
  const port = await freePort()
  const secret = randomBytes(32).toString('base64url')
  const child = start(folder, 'npm run start', {
    ...env,
    PORT: String(port),
    JWT_SECRET: secret,
    UPSTASH_REDIS_REST_URL: local.url,
    UPSTASH_REDIS_REST_TOKEN: local.token,
    OPENAI_BASE_URL: model.url,
    OPENAI_API_KEY: 'unused',
  })
  const url = `http://127.0.0.1:${port}`
  try {
    await answering(url, child)
    const request = readJson(join(folder, 'example.json'))
    return await probe({ url, secret, request, page: startPage(name), output: child.output })
  } finally {
    await stop(child)
  }
}

/** Lets a copy of an example depend on the published packages. The versions of all others stay locked. */
function asPublished(folder, version) {
  const manifest = readJson(join(folder, 'package.json'))
  const lock = readJson(join(folder, 'package-lock.json'))
  for (const dependencies of [
    manifest.dependencies,
    manifest.devDependencies,
    lock.packages[''].dependencies,
    lock.packages[''].devDependencies,
  ]) {
    for (const name of Object.keys(dependencies ?? {})) {
      if (name.startsWith('@sluice/')) dependencies[name] = version
    }
  }
  for (const path of Object.keys(lock.packages)) {
    if (/@sluice\/|^\.\.\//.test(path)) delete lock.packages[path]
  }
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest))
  writeFileSync(join(folder, 'package-lock.json'), JSON.stringify(lock))
  return manifest
}

const readJson = (path) => JSON.parse(readFileSync(path, 'utf8'))
