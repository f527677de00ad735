import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { jwtSubject } from '@sluice/core/jwt'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { runHere } from '../cli/run-here.ts'

const CLI = fileURLToPath(new URL('../../packages/cli/bin/sluice.js', import.meta.url))
const SECRET = 'a secret of at least thirty-two characters'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-token-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

interface Ended {
  readonly code: number
  readonly output: string
  readonly errors: string
}

/** Runs the command in the folder, in this process. */
async function token(args: string[]): Promise<Ended> {
  const { out, err, exitCode } = await runHere(folder, ['token', ...args])
  return { code: exitCode ?? 0, output: out, errors: err }
}

/** Runs the command in a process of its own, with nothing in its environment but `env`. */
function terminal(args: string[], env: Record<string, string> = {}): Promise<Ended> {
  return new Promise((resolve) => {
    const options = { cwd: folder, env }
    execFile(process.execPath, [CLI, 'token', ...args], options, (error, output, errors) => {
      resolve({ code: Number(error?.code ?? 0), output, errors })
    })
  })
}

const write = (file: string, text: string) => writeFileSync(join(folder, file), text)

describe('sluice token', () => {
  it('prints a JWT that jwtSubject accepts, and nothing else', async () => {
    write('.env.local', `OTHER=1\nJWT_SECRET="${SECRET}"\n`)
    const { code, output, errors } = await terminal(['--tenant', 'acme', '--plan', 'growth'])
    expect([code, errors]).toEqual([0, ''])
    expect(output).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+\n$/)
    const subject = jwtSubject({
      secret: SECRET,
      algorithms: ['HS256'],
      claims: { tenant: 'tenant', plan: 'plan' },
    })
    const headers = { authorization: `Bearer ${output.trim()}` }
    const request = new Request('http://localhost:3000/api/ai', { headers })
    expect(await subject(request)).toEqual({ tenant: 'acme', plan: 'growth' })
  })

  it.each([
    ['an hour', [], 3_600],
    ['90 seconds', ['--expires', '90s'], 90],
    ['a week', ['--expires', '7d'], 604_800],
  ])('lasts %s', async (_, args, seconds) => {
    write('.env', `JWT_SECRET=${SECRET}`)
    const { output } = await token(['--tenant', 'acme', ...args])
    const { iat = 0, exp = 0 } = decodeJwt(output)
    expect(exp - iat).toBe(seconds)
    expect(decodeProtectedHeader(output)).toEqual({ alg: 'HS256', typ: 'JWT' })
  })

  it('has other claims, as text', async () => {
    write('.dev.vars', `AUTH_KEY=${SECRET}`)
    const claims = ['--claim', 'org_id=o=1', '--claim', 'sub=u_17']
    const { output } = await token([...claims, '--variable', 'AUTH_KEY'])
    expect(decodeJwt(output)).toMatchObject({ org_id: 'o=1', sub: 'u_17' })
    expect(decodeJwt(output)).not.toHaveProperty('tenant')
  })

  it('prefers .env.local to .dev.vars, and that to .env', async () => {
    const files = ['.env', '.dev.vars', '.env.local']
    for (const [index, file] of files.entries()) {
      write(file, `JWT_SECRET=${String(index).repeat(40)}`)
      const { output } = await token(['--tenant', 'acme'])
      const secret = String(index).repeat(40)
      const subject = jwtSubject({ secret, algorithms: ['HS256'] })
      const headers = { authorization: `Bearer ${output.trim()}` }
      expect(await subject(new Request('http://localhost/', { headers }))).not.toBeNull()
    }
  })

  it('refuses without a file, and names where it looked and what to do', async () => {
    // A secret of the environment may be that of a deployment.
    const { code, output, errors } = await terminal(['--tenant', 'acme'], { JWT_SECRET: SECRET })
    expect([code, output]).toEqual([1, ''])
    expect(errors).toContain('found no JWT_SECRET. Looked in .env.local, .dev.vars, .env of ')
    expect(errors).toContain('none of them exists')
    expect(errors).toContain('>> .env.local')
  })

  it('refuses if the files lack the variable, or have it empty', async () => {
    write('.env', 'SECRET=x\n')
    write('.env.local', 'JWT_SECRET=\n')
    const { code, errors } = await token(['--tenant', 'acme'])
    expect(code).toBe(1)
    expect(errors).toContain('it is not set in .env.local, .env. ')
  })

  it('refuses a short secret without printing it', async () => {
    write('.env', 'JWT_SECRET=hunter2-hunter2-hunter2-hunter2')
    const { code, output, errors } = await token(['--tenant', 'acme'])
    expect([code, output]).toEqual([1, ''])
    expect(errors).toContain('JWT_SECRET of .env is too short for HS256')
    expect(errors).not.toContain('hunter2')
  })

  it.each([
    ['no claim', []],
    ['an empty tenant', ['--tenant', '']],
    ['a claim twice', ['--tenant', 'acme', '--claim', 'tenant=other']],
    ['a claim without a value', ['--claim', 'tenant']],
    ['a claim with an empty value', ['--claim', 'tenant=']],
    ['a time as a claim', ['--tenant', 'acme', '--claim', 'exp=99999999999']],
    ['an unknown unit', ['--tenant', 'acme', '--expires', '1w']],
    ['no time', ['--tenant', 'acme', '--expires', '0s']],
    ['a year', ['--tenant', 'acme', '--expires', '365d']],
    ['an unknown option', ['--tenant', 'acme', '--secret', SECRET]],
    ['an argument', ['acme']],
  ])('refuses %s, and says what is wrong', async (_, args) => {
    write('.env', `JWT_SECRET=${SECRET}`)
    const { code, output, errors } = await token(args)
    expect([code, output]).toEqual([1, ''])
    expect(errors).toMatch(/^sluice: [^\n]+$/)
  })

  it('prints its help', async () => {
    const { code, output } = await token(['--help'])
    expect(code).toBe(0)
    expect(output).toContain('--expires DURATION')
  })
})
