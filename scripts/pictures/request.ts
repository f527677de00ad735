import { arrow, box, text, type Drawing } from './svg.ts'

/** The way of a request, from the adapter to the handler or to a refusal. */
export function request(): Drawing {
  const y = 60
  const stages = [
    box(20, y, 130, 76, ['adapter', 'which route?', 'whose request?']),
    box(190, y, 142, 76, ['limiter', 'policies become', 'keys and numbers']),
    box(372, y, 150, 76, ['Redis', 'checks all limits,', 'then charges all'], 'accent'),
    box(556, y, 124, 76, ['decision', 'a plain value']),
  ]
  const arrows = [
    arrow([
      [85, 24],
      [85, y],
    ]),
    arrow([
      [150, 98],
      [190, 98],
    ]),
    arrow([
      [332, 98],
      [372, 98],
    ]),
    arrow([
      [522, 98],
      [556, 98],
    ]),
    arrow([
      [85, 136],
      [85, 196],
    ]),
    arrow([
      [618, 136],
      [618, 196],
    ]),
    arrow([
      [556, 122],
      [540, 122],
      [540, 166],
      [415, 166],
      [415, 196],
    ]),
  ]
  const ends = [
    box(20, 196, 130, 58, ['401', 'charged nowhere'], 'bad'),
    box(340, 196, 150, 58, ['429', 'charged nowhere'], 'bad'),
    box(556, 196, 124, 58, ['your handler', 'charged once'], 'good'),
  ]
  const labels = [
    text(97, 36, 'request'),
    text(97, 172, 'nobody', { small: true }),
    text(447, 48, 'one round trip', { anchor: 'middle', small: true, colour: 'muted' }),
    text(427, 186, 'denied', { small: true }),
    text(606, 172, 'allowed', { small: true, anchor: 'end' }),
  ]
  return {
    title: 'The way of a request',
    description:
      'An adapter finds the route and the subject, or answers 401. The limiter turns its policies into keys and numbers. Redis checks all limits and then charges all of them, in one round trip. The decision leads to your handler, or to a 429 that has charged nothing.',
    height: 276,
    body: [...stages, ...arrows, ...ends, ...labels].join(''),
  }
}
