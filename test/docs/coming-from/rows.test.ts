import { describe, expect, it } from 'vitest'
import { page, source } from './page.ts'

/** Each line of a table: theirs with its configuration, ours with its block. Tests run these beside each other. */
const ROWS = [
  [
    'nodelay.conf',
    'burst=20 nodelay',
    'nodelay',
    "limit: 10, window: '1s', burst: 21, wait: false",
  ],
  ['queue.conf', 'burst=20', 'queue', "limit: 10, window: '1s', burst: 21"],
  ['delay.conf', 'burst=12 delay=8', 'delay', "limit: 10, window: '1s', burst: 13"],
  ['several.conf', '$server_name', 'several', "per: 'global'"],
  ['kong.yaml', 'second: 5', 'kong', "limit: 5, window: '1s'"],
  ['kong.yaml', 'minute: 100', 'kong', "limit: 100, window: '1m'"],
  ['kong.yaml', 'hour: 1000', 'kong', "limit: 1_000, window: '1h'"],
  ['envoy.yaml', 'max_tokens: 100', 'envoy', "limit: 10, window: '1s', burst: 100"],
  ['envoy-rollout.yaml', 'filter_enabled', 'envoy-rollout', 'enabled: 50, enforced: 20'],
  ['app.js', 'windowMs: 15 * 60 * 1000', 'express', "limit: 100, window: '15m'"],
  ['litellm.yaml', 'model_name: fast', 'litellm-providers', "fast: 'gpt-6-luna'"],
  ['litellm.yaml', 'model_list', 'litellm-plans', 'dailyUsd: usd(5)'],
  ['litellm.yaml', 'model_list', 'litellm-plans', 'rpm: 60, tpm: 200_000'],
] as const

describe('the tables of the page', () => {
  it.each(ROWS)('have the line of %s that tests run: %s', (config, line, block, options) => {
    expect(page).toContain(line)
    expect(source(config)).toContain(line)
    expect(page).toContain(options)
    for (const option of options.split(', ')) expect(source(`${block}.ts`)).toContain(option)
  })
})
