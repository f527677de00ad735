import { modelRoute } from '../../../../lib/model/model-route'

export const POST = modelRoute({
  stream: false,
  instructions: 'Summarize the text in one sentence.',
  sample: 'A cache answers again what was read before.',
})
