import sample from './azure-conv-sample.json'

/** A model call with the tokens that it will use, and how it will end. */
export interface Call {
  readonly input: number
  readonly output: number
  readonly fate: Fate
}

/**
 * The end of a call: a whole answer, or one that its reader leaves halfway, or one whose holder, the
 * process that passes it on, dies halfway.
 */
export type Fate = 'whole' | 'left' | 'lost'

/** Accidents at fixed places, so that every way has the same ones at every run. */
const LEFT_EVERY = 10
const LOST_EVERY = 50

/**
 * The traffic of every comparison: each 96th call of a conversational service, so 200 in an hour.
 * From AzureLLMInferenceTrace_conv.csv of the Azure Public Dataset, by Microsoft, CC-BY 4.0.
 */
export const calls: readonly Call[] = sample.input.map((input, index) => ({
  input,
  output: sample.output[index] ?? 0,
  fate: fateOf(index + 1),
}))

function fateOf(position: number): Fate {
  if (position % LOST_EVERY === 0) return 'lost'
  return position % LEFT_EVERY === LEFT_EVERY / 2 ? 'left' : 'whole'
}
