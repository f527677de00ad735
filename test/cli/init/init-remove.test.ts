import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { project, removeProjects, type Project } from '../project.ts'

afterAll(removeProjects)

const read = ({ folder }: Project, path: string): string => readFileSync(join(folder, path), 'utf8')

describe('sluice init --remove', () => {
  it('leaves a file that was changed, and a secret of your own, when it takes back the rest', async () => {
    const one = project({
      'package.json': JSON.stringify({ dependencies: { hono: '*' } }),
      '.env': 'JWT_SECRET=mine\n',
    })
    await one.sluice(['init', '--yes'])
    writeFileSync(join(one.folder, 'limits.ts'), 'mine')
    const { out } = await one.sluice(['init', '--remove', '--yes'])
    expect(out).toContain('leave limits.ts, which you have changed')
    expect(out).toContain('remove its lines from .env\n')
    expect(read(one, 'limits.ts')).toBe('mine')
    expect(read(one, '.env')).toBe('JWT_SECRET=mine\n')
    expect(read(one, '.gitignore')).toBe('.env\n')
    expect(out).toContain('leave .gitignore, which keeps your variables out of the repository\n')
  })

  it.each(['nextjs', 'astro', 'cloudflare', 'durable-objects', 'hono', 'express', 'fastify', 'h3'])(
    'finds by the files that are there that it has made those of %s',
    async (name) => {
      for (const files of [{}, { 'package.json': '{}' }, { 'src/mine.ts': '' }]) {
        const one = project(files)
        await one.sluice(['init', '--framework', name, '--yes'])
        // It is the framework of the files, whichever package has come since.
        const manifest = { dependencies: { hono: '*', wrangler: '*' } }
        if ('package.json' in files) one.write('package.json', JSON.stringify(manifest))
        const { out, err } = await one.sluice(['init', '--remove', '--yes'])
        expect({ framework: out.split(':')[0], err }).toEqual({ framework: name, err: '' })
        const left = readdirSync(one.folder, { recursive: true, withFileTypes: true })
        expect(left.filter((entry) => entry.isFile())).toHaveLength(Object.keys(files).length)
      }
    },
  )

  it('finds it by the files that you have not changed', async () => {
    const one = project({})
    await one.sluice(['init', '--framework', 'fastify', '--yes'])
    writeFileSync(join(one.folder, 'limits.ts'), 'mine')
    expect((await one.sluice(['init', '--remove'])).out).toMatch(/^fastify:\n/)
    for (const path of ['server.ts', 'auth.ts']) writeFileSync(join(one.folder, path), 'mine')
    expect((await one.sluice(['init', '--remove'])).err).toContain('Name one: --framework NAME')
  })
})
