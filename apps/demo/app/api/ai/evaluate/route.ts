import { modelRoute } from '../../../../lib/model/model-route'

export const POST = modelRoute({
  stream: true,
  instructions: 'Evaluate the answer. Name one strength, one weakness and a score out of ten.',
  sample:
    'Clear and well structured, with a good example. It does not say what happens when the cache is cold. Seven out of ten.',
})
