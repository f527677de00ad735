import type { ConfigError } from '@sluice/core'
import { invalidOption } from '@sluice/core/internal'
import { isObject, objectOf, objectsIn, own, type Json } from '../json.ts'
import { isClaude } from '../model-name.ts'
import { MAXIMA } from '../estimate/estimate.ts'
import { units } from '../formats/provider-usage.ts'
import { THINKS } from './prepare.ts'
import { costsTokensOnly, isCallersTool, words } from './api.ts'

/** The parts of a call of the AI SDK that hold options of a provider. */
export interface CallWithOptions {
  readonly prompt: readonly unknown[]
  readonly tools?: readonly unknown[]
  readonly providerOptions?: unknown
  readonly reasoning?: unknown
}

/** Fields that the SDK writes from the call itself, from which they are counted. An option may overwrite them. */
const WRITTEN_BY_SDK: ReadonlySet<string> = /* @__PURE__ */ words(
  `model messages input prompt system tools functions stream stream_options n best_of ${MAXIMA.join(' ')}`,
)

/** Options that the SDK reads itself or sends under another name, and that cost nothing beside tokens. */
const READ_BY_SDK: ReadonlySet<string> = /* @__PURE__ */ words(
  `text_verbosity strict_json_schema system_message_mode force_reasoning reasoning_summary allowed_tools
   pass_through_unsupported_files send_reasoning structured_output_mode disable_parallel_tool_use tool_streaming
   include_pings effort task_budget`,
)

/** The effects of a provider's options on a call. */
export interface OptionEffects {
  /** The fields of the body that they write, by the names that they have there. */
  readonly fields: Json
  /** Tokens that the model may think beside those of its answer. */
  readonly thinking: number
  /** True if input may be written to a cache for an hour, which costs more. */
  readonly cachesLong: boolean
}

/**
 * Reads the options that a call passes to its provider, by the rules that hold for the fields of a body. All
 * vendors' options are held to them: which of them a model reads is not visible here.
 *
 * @param allowed The option `allowFields`.
 * @throws ConfigError When an option may cost more than tokens.
 */
export function readProviderOptions(
  modelId: string,
  call: CallWithOptions,
  allowed: readonly string[] = [],
): OptionEffects {
  const fields: Record<string, unknown> = {}
  const isAllowed = (name: string, field: string): boolean =>
    allowed.includes(name) || allowed.includes(field)
  for (const [vendor, options] of Object.entries(objectOf(call.providerOptions))) {
    for (const [name, value] of Object.entries(objectOf(options))) {
      if (value === undefined || value === null) continue
      const field = snakeCase(name)
      const costsMore = !READ_BY_SDK.has(field) && !costsTokensOnly(field, value)
      if (WRITTEN_BY_SDK.has(field) || (costsMore && !isAllowed(name, field))) {
        throw refusal(`providerOptions.${vendor}.${name}`, WRITTEN_BY_SDK.has(field), name)
      }
      fields[field] = value
    }
  }
  const thinking = thinkingBudget(call.providerOptions)
  // The SDK adds a budget of its own to the maximum of models that do not choose one by themselves.
  const { reasoning = 'none' } = call
  const isCustom = reasoning !== 'none' && reasoning !== 'provider-default'
  const mayBudget = isClaude(modelId) && !THINKS.test(modelId)
  if (mayBudget && isCustom && !own(fields, 'thinking') && !allowed.includes('reasoning')) {
    const message =
      'has the SDK add a thinking budget of its own to the maximum; set providerOptions.anthropic.thinking or effort instead, or allow it with allowFields: ["reasoning"]'
    throw invalidOption('limitedModel.reasoning', message)
  }
  const nested = nestedOptions(call)
  if (!nested.every(changesToFunctionTools) && !allowed.includes('tools'))
    throw toolRefusal('toolChanges')
  const cachesLong = JSON.stringify([call.providerOptions, nested])?.includes('"1h"') ?? false
  return { fields, thinking, cachesLong }
}

/** The error for a tool that the provider runs. */
export function toolRefusal(option: string): ConfigError {
  const message =
    'has tools that the provider runs and bills beside tokens; allow them with allowFields: ["tools"]'
  return invalidOption(`limitedModel.${option}`, message)
}

function refusal(option: string, isWritten: boolean, name: string): ConfigError {
  const message = isWritten
    ? 'would overwrite what the call was counted by; use the option of the AI SDK, such as maxOutputTokens'
    : `may cost more than the tokens that are counted: leave it out, or allow it with allowFields: ["${name.slice(0, 64)}"], and count what it costs`
  return invalidOption(`limitedModel.${option.slice(0, 128)}`, message)
}

const snakeCase = (name: string): string =>
  name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** The budget that the SDK asks for when thinking is enabled without one. */
const DEFAULT_THINKING = 1_024

/** Returns the largest number of tokens to think that a vendor's options name; the SDK adds it to the maximum. */
function thinkingBudget(providerOptions: unknown): number {
  const budgets = Object.values(objectOf(providerOptions)).flatMap((options) =>
    ['thinking', 'reasoningConfig'].map((name) => {
      const { type, budgetTokens } = objectOf(objectOf(options)[name])
      if (budgetTokens === undefined || budgetTokens === null) {
        return type === 'enabled' ? DEFAULT_THINKING : 0
      }
      return units(budgetTokens)
    }),
  )
  return Math.max(0, ...budgets)
}

/** Returns the options of messages, of their parts, of what tools returned, and of tools. */
function nestedOptions({ prompt, tools = [] }: CallWithOptions): Json[] {
  const found: Json[] = []
  const holders: unknown[] = [...prompt, ...tools]
  for (const holder of holders) {
    if (!isObject(holder)) continue
    const { providerOptions, content, output } = holder
    if (isObject(providerOptions)) found.push(providerOptions)
    // The list grows as it is read.
    holders.push(output, ...objectsIn(content), ...objectsIn(objectOf(output)['value']))
  }
  return found
}

/** Returns false if a message changes the tools to some that the provider runs. */
function changesToFunctionTools(options: Json): boolean {
  return Object.values(options).every((vendor) =>
    objectsIn(objectOf(vendor)['toolChanges']).every(
      ({ tool }) => tool === undefined || isCallersTool(tool),
    ),
  )
}
