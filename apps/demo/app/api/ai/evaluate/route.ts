import { answerWith } from '../../../../lib/model/model'

export const POST = answerWith({
  stream: true,
  instructions: 'Evaluate the answer. Name one strength, one weakness and a score out of ten.',
  sample:
    'Clear and well structured, with a good example. It does not say what happens when the cache is cold. Seven out of ten.',
})
