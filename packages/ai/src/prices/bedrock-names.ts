import { baseName } from '../model-name.ts'
import type { Rows } from './price-table.ts'

/** The profiles of which each costs as much as the region itself, whatever the vendor. */
const HOME = /^(?:us|global)\./
/** The others, which do so for the models of these vendors only. */
const GEOGRAPHY = /^(?:apac|au|ca|eu|in|jp)\.(?=(?:anthropic|openai)\.)/

/**
 * Returns the names that the price of a model of Amazon Bedrock may be listed under, the most exact first: without
 * its ARN, the version `-v1:0`, the day of a snapshot, and a profile that costs no more than the region. The profile
 * `global` costs less where it has a price of its own.
 *
 * @example
 * bedrockNames('us.anthropic.claude-sonnet-4-5-20250929-v1:0') // [..., 'anthropic.claude-sonnet-4-5']
 */
export function bedrockNames(model: string): string[] {
  const full = model.toLowerCase().replace(/^arn:.*\//, '')
  const names = [full, full.replace(/(?:-v1)?(?::0)?$/, '')]
  names.push(baseName(names[1] ?? ''))
  // Answers have the name without its vendor.
  const vendor = full.startsWith('claude-')
    ? 'anthropic.'
    : full.startsWith('gpt-')
      ? 'openai.'
      : ''
  const own = names.map((name) => vendor + name)
  return [full, ...own, ...own.map((name) => name.replace(HOME, '').replace(GEOGRAPHY, ''))]
}

/** Returns the rows of the profile `global`, and those of regions, which are a tenth higher. */
export const withRegions = (rows: Rows): Rows =>
  Object.fromEntries(
    Object.entries(rows).flatMap(([names, row]) => [
      [names.replace(/^| /g, '$&global.'), row],
      [names, JSON.parse(JSON.stringify(row), regional) as Rows[string]],
    ]),
  )

/** A tenth more of each rate, and not of the length from which they hold. */
const regional = (_key: string, value: unknown): unknown =>
  Number(value) < 1_000 ? Math.round(Number(value) * 1_100_000) / 1_000_000 : value
