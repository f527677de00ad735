import { spellingsOf } from '../model-name.ts'

/** Returns the name that the rules below are written for: without vendors, days, and the owner of a fine-tuned model. */
export function plainName(model: string): string {
  const name = spellingsOf(model.replace(/^ft:([^:]+).*/i, '$1')).at(-1) ?? ''
  return name.replace(/^.*[/.](?=claude-)|^.*\//, '')
}

const VENDORS: readonly RegExp[] = [
  /^(chatgpt|codex|o\d|gpt-(?!oss))/,
  /^claude/,
  /^gem(ini|ma)/,
  /^grok/,
  /^deepseek/,
  /^(kimi|moonshot)/,
  /^(open-)?(mi[ns]|magi|code|dev|pix|vox)tral/,
  /^(gpt-oss|llama|qwen|glm)/,
]

/** Returns true if two models are known to be of different vendors. */
export function haveOtherVendors(from: string, to: string): boolean {
  const [one, other] = [from, to].map((name) => VENDORS.findIndex((names) => names.test(name)))
  return one !== other && one !== -1 && other !== -1
}

export const isOpenAi = (name: string): boolean => VENDORS[0]!.test(name)

/** The models of OpenAI that reason, as the rules of `@ai-sdk/openai` 4.0.77 have them. */
export const reasons = (name: string): boolean => /^(o\d|gpt-(?!5-chat)([5-9]|\d\d))/.test(name)

/** The efforts of all models, in their order. */
const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const
type Effort = (typeof EFFORTS)[number]

/**
 * The efforts of models, the first that fits; none of a model that does not reason. Held to the data of
 * https://models.dev/api.json by a test.
 */
const MODEL_EFFORTS: readonly (readonly [models: RegExp, efforts: string])[] = [
  [/^(gpt-[34]|chatgpt|gpt-5-chat)/, ''],
  [/^gpt-5-pro/, 'high'],
  [/^gpt-5\.\d-pro/, 'medium high xhigh'],
  [/^gpt-5(-mini|-nano)?$/, 'minimal low medium high'],
  [/^gpt-5\.1$/, 'none low medium high'],
  [/^gpt-5\.(2|3-codex|4|4-mini|4-nano|5)$/, 'none low medium high xhigh'],
  [/^gpt-5\.3-codex-spark/, 'low medium high xhigh'],
  [/^gpt-(5\.6-(luna|sol|terra)|6-(luna|sol)|6\.1-terra)$/, 'none low medium high xhigh max'],
  [/^gpt-(5\.6-cyber|[6-9])/, 'low medium high xhigh max'],
  [/^(o1|o1-pro|o3|o3-mini|o3-pro|o4-mini)$/, 'low medium high'],
  // https://platform.claude.com/docs/en/build-with-claude/effort
  [/^claude-\w+-(4-[7-9]|[5-9])/, 'low medium high xhigh max'],
  [/^claude-\w+-4-6/, 'low medium high max'],
  [/^claude-opus-4-5/, 'low medium high'],
  [/^claude-(\w+-[34]|[1-3])/, ''],
]

/** Returns the efforts that a model takes, if they are known. */
export const effortsOf = (name: string): readonly Effort[] | undefined =>
  MODEL_EFFORTS.find(([models]) => models.test(name))?.[1]
    .split(' ')
    .filter(isEffort)

export const isEffort = (value: unknown): value is Effort => EFFORTS.includes(value as Effort)

/** Returns the effort of reasoning that is nearest to the one asked for: no higher, unless the lowest is. */
export function nearestEffort(asked: Effort, efforts: readonly Effort[]): Effort | undefined {
  const most = EFFORTS.indexOf(asked)
  const others = efforts.filter((effort) => effort !== 'none')
  return others.findLast((effort) => EFFORTS.indexOf(effort) <= most) ?? others[0]
}

/** The models that read no pictures. Held to the data of https://models.dev/api.json by a test. */
const WITHOUT_PICTURES =
  /^(gpt-3|gpt-4(-32k|-\d+(-preview)?)?$|o1-(mini|preview)|o3-mini|gpt-oss|llama-3|deepseek-(chat|reasoner|v4-pro)|codestral|devstral-(2|latest|medium)|open-mistral|voxtral)/

export const readsNoPictures = (name: string): boolean => WITHOUT_PICTURES.test(name)

/**
 * The most tokens that models read, or more, the first that fits. Held by a test to
 * https://github.com/pydantic/genai-prices and https://models.dev/api.json, of which the larger counts. A request
 * to Sonnet 4 and 4.5 has a price of its own above 200,000 tokens, so it may be longer.
 */
const CONTEXTS: readonly (readonly [models: RegExp, tokens: number])[] = [
  [/^gpt-4(-0\d+)?$/, 8_192],
  [/^gpt-3/, 16_385],
  [/^gpt-4\.1/, 1_047_576],
  [/^(gpt-4(o|-turbo)|chatgpt-4o|o1-(mini|preview)|gpt-5\.3(-chat|-codex-spark)?$)/, 128_000],
  [/^(o\d|codex-mini)/, 200_000],
  [/^gpt-5(\.[0-3]|-|$)|^gpt-5\.(4-(mini|nano)|6-cyber)/, 400_000],
  [/^gpt-(5\.[4-9]|6)/, 1_050_000],
  [/^claude-(\w+-3|haiku-4|opus-4(-[0125]|$))/, 200_000],
  [/^claude-\w+-[4-9]/, 1_000_000],
  [/^gemini-[2-9](?!.*(computer|image|live|tts))/, 1_048_576],
  [/^(llama-3|gpt-oss)/, 131_072],
]

/** Returns the most tokens that a model reads, if they are known. */
export const contextOf = (name: string): number =>
  CONTEXTS.find(([models]) => models.test(name))?.[1] ?? Infinity
