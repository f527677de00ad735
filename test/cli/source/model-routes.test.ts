import { afterAll, describe, expect, it } from 'vitest'
import { sharedRedisOverHttp } from '../../support/running-redis.ts'
import { MODEL_ROUTE, nextApp } from '../doctor/doctor-projects.ts'
import { examine, onlyFinding, type Fixture } from '../doctor/examine.ts'
import { removeProjects } from '../project.ts'

afterAll(removeProjects)

const redis = sharedRedisOverHttp()

/** Routes that call a model without naming its client, each with the files that it needs. */
const INDIRECT_ROUTES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'by a function of another file': {
    'lib/ask.ts': `import OpenAI from 'openai'\nconst client = () => new OpenAI()\nexport const ask = () => client().responses.create({})`,
    'route.ts': `import { ask } from '@/lib/ask'\nexport const POST = async () => Response.json(await ask())`,
  },
  'by a file that exports on the function of another': {
    'lib/ask.ts': `import { generateText } from 'ai'\nexport function ask() { return generateText({}) }`,
    'lib/index.ts': `export { ask as question } from './ask'`,
    'route.ts': `import * as lib from '@/lib'\nexport const POST = () => lib.question()`,
  },
  'by a handler of another file': {
    'lib/handler.ts': MODEL_ROUTE,
    'route.ts': `export { POST } from '@/lib/handler'`,
  },
  'by all handlers of another file': {
    'lib/handler.ts': MODEL_ROUTE,
    'route.ts': `export * from '@/lib/handler'`,
  },
  'by fetch': {
    'route.ts': `export const POST = () => fetch('https://api.openai.com/v1/responses', { method: 'POST' })`,
  },
  'by fetch with an address in parts': {
    'route.ts': `const URL = \`\${process.env.BASE}/chat/completions\`\nexport const POST = () => fetch(URL, { method: 'POST' })`,
  },
  'by the client in CommonJS': {
    'route.ts': `const OpenAI = require('openai')\nmodule.exports.POST = () => new OpenAI().responses.create({})`,
  },
  'by another file in CommonJS': {
    'lib/ask.js': `const { generateText: answer } = require('ai')\nexports.ask = () => answer({})`,
    'route.ts': `const { ask } = require('../../../lib/ask')\nmodule.exports = { POST: () => ask() }`,
  },
}

/** Routes that call no model, beside functions that do. */
const OTHER_ROUTES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'that uses another function of the same file': {
    'lib/ask.ts': `import { generateText } from 'ai'\nexport const ask = () => generateText({})\nexport const NAMES = ['a']`,
    'route.ts': `import { NAMES } from '@/lib/ask'\nexport const GET = () => Response.json(NAMES)`,
  },
  'that lists models': {
    'route.ts': `export const GET = () => fetch('https://api.openai.com/v1/models')`,
  },
  'whose function of another file is limited': {
    'lib/ask.ts': `import { limitedModel } from '@sluice/ai'\nimport { generateText } from 'ai'\nexport const ask = () => generateText({ model: limitedModel(model) })`,
    'route.ts': `import { ask } from '@/lib/ask'\nexport const POST = () => ask()`,
  },
}

/** Places the file `route.ts` where Next.js serves it at /api/title. */
const served = ({ 'route.ts': route = '', ...files }: Readonly<Record<string, string>>) => ({
  ...files,
  'app/api/title/route.ts': route,
})

describe('sluice doctor, of routes that call a model', () => {
  it.each(Object.entries(INDIRECT_ROUTES))(
    'finds a route that calls a model %s',
    async (_, files) => {
      const fixture: Fixture = {
        code: 'route_unprotected',
        says: 'no limiter protects them: /api/title (app/api/title/route.ts)',
        create: () => nextApp(redis.local, {}, served(files)),
      }
      expect(await examine(fixture)).toEqual(onlyFinding(fixture))
    },
  )

  it.each(Object.entries(OTHER_ROUTES))('is content with a route %s', async (_, files) => {
    const { out } = await nextApp(redis.local, {}, served(files)).sluice(['doctor'])
    expect(out).toBe('Nothing is wrong with limits.ts and its store.')
  })
})
