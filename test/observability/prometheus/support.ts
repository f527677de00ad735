import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { vi } from 'vitest'
import { freePort } from '../../e2e/support/ports.ts'

/** The command of Prometheus, if there is one. */
export const PROMETHEUS = process.env['TEST_PROMETHEUS'] ?? ''

const PROMTOOL = join(dirname(PROMETHEUS), 'promtool')

/** The files that the package ships. */
const shipped = (path: string): string =>
  fileURLToPath(new URL(`../../../packages/otel/${path}`, import.meta.url))
export const ALERTS = shipped('prometheus/alerts.yml')
export const DASHBOARD = shipped('grafana/sluice.json')

/** Runs promtool, and returns its status and what it said. */
export function promtool(...args: string[]): { status: number | null; output: string } {
  const { status, stdout, stderr } = spawnSync(PROMTOOL, args, { encoding: 'utf8' })
  return { status, output: `${stdout}${stderr}` }
}

/** A sample of the result of a query. */
export interface Sample {
  readonly metric: Readonly<Record<string, string>>
  readonly value: readonly [time: number, value: string]
}

/** Starts a Prometheus that scrapes a port of this machine, which is told the job. */
export async function startPrometheus(
  target: number,
  { jobs = ['app'], interval = '1s', rules = readFileSync(ALERTS, 'utf8') } = {},
) {
  const folder = mkdtempSync(join(tmpdir(), 'prometheus-'))
  writeFileSync(join(folder, 'rules.yml'), rules)
  const config = {
    global: { scrape_interval: interval, scrape_timeout: interval, evaluation_interval: interval },
    rule_files: ['rules.yml'],
    scrape_configs: jobs.map((job) => ({
      job_name: job,
      params: { job: [job] },
      static_configs: [{ targets: [`127.0.0.1:${target}`] }],
    })),
  }
  writeFileSync(join(folder, 'prometheus.yml'), JSON.stringify(config))
  const address = `127.0.0.1:${await freePort()}`
  const server = spawn(
    PROMETHEUS,
    [
      `--config.file=${join(folder, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=${address}`,
    ],
    { stdio: 'ignore' },
  )
  const get = async (path: string) => fetch(`http://${address}${path}`)
  await vi.waitFor(
    async () => {
      if (!(await get('/-/ready')).ok) throw new Error('Prometheus is not ready')
    },
    { timeout: 60_000, interval: 200 },
  )
  return {
    async query(expression: string): Promise<readonly Sample[]> {
      const answer = await get(`/api/v1/query?query=${encodeURIComponent(expression)}`)
      const body = (await answer.json()) as {
        status: string
        error?: string
        data: { result: Sample[] }
      }
      if (body.status !== 'success') throw new Error(`${expression}: ${body.error}`)
      return body.data.result
    },
    async [Symbol.asyncDispose]() {
      const ended = once(server, 'exit')
      server.kill()
      await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
