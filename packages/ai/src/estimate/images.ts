import { baseName } from '../model-name.ts'

/**
 * The most input tokens that an image can cost, whatever its size: a request rarely states the size, and
 * a reservation must not be too small.
 *
 * OpenAI, https://developers.openai.com/api/docs/guides/images-vision (as of 2026-09): tile models cost
 * 85 and 170 for each of at most 2 × 4 tiles (gpt-4o-mini 2833 and 5667), with `detail: low` the 85 or
 * 2833 alone; patch models cost at most 30,000 patches × 1.2, with `detail: high` at most 6144 × 2.46,
 * with `low` the 256 patches of 512 × 512 pixels × 2.46, rounded up.
 */
export function openAiImageTokens(model: string | undefined, detail: unknown): number {
  const name = baseName(model ?? '')
  if (TILE_MODEL.test(name)) return detail === 'low' ? 85 : 1_445
  // A name that is no vendor's may stand for the most expensive.
  if (!/^(gpt-(?!4o-mini)|o\d)/.test(name)) return detail === 'low' ? 2_833 : 48_169
  if (detail === 'low') return 630
  return detail === 'high' ? 15_115 : 36_000
}

/** Their smaller siblings count patches. */
const TILE_MODEL = /^(gpt-(4-turbo|4o|4\.1|4\.5-preview|5(\.1)?)|o[13])$/

/**
 * The most that Claude makes of an image: patches of 28 × 28 pixels, at most 4784 of them (1568 before
 * Claude 4.7). https://platform.claude.com/docs/en/build-with-claude/vision
 */
export const CLAUDE_IMAGE_TOKENS = 4784
