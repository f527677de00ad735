import { arrow, box, line, text, type Drawing } from './svg.ts'

/** What middleware does not see, and what a wrapper does. */
export function middlewareAndWrapper(): Drawing {
  const first = [
    text(20, 26, 'Middleware alone', { bold: true }),
    text(20, 72, '/api/ai/chat'),
    arrow([
      [116, 67],
      [200, 67],
    ]),
    box(200, 44, 150, 46, ['middleware', 'charges'], 'accent'),
    arrow([
      [350, 67],
      [500, 67],
    ]),
    box(500, 44, 180, 100, ['handler', 'of /api/ai/chat']),
    text(20, 132, '/v1/chat', { colour: 'bad' }),
    line(
      [
        [84, 127],
        [500, 127],
      ],
      'bad',
      { head: true, dashed: true },
    ),
    text(292, 118, 'rewritten: counted nowhere', { anchor: 'middle', small: true, colour: 'bad' }),
  ]
  const second = [
    text(20, 206, 'Wrapper, with a secret that both know', { bold: true }),
    text(20, 252, '/api/ai/chat'),
    arrow([
      [116, 247],
      [200, 247],
    ]),
    box(200, 224, 150, 46, ['middleware', 'charges, and signs'], 'accent'),
    arrow([
      [350, 247],
      [470, 247],
    ]),
    text(410, 238, 'hand-off', { anchor: 'middle', small: true }),
    box(470, 224, 84, 100, ['wrapper'], 'accent'),
    box(554, 224, 126, 100, ['handler', 'of /api/ai/chat']),
    text(20, 312, '/v1/chat'),
    arrow([
      [84, 307],
      [470, 307],
    ]),
    text(282, 298, 'no hand-off: the wrapper charges', { anchor: 'middle', small: true }),
    text(350, 352, 'Both ways are charged once.', { anchor: 'middle', colour: 'good', bold: true }),
  ]
  const border = line(
    [
      [20, 172],
      [680, 172],
    ],
    'line',
    { width: 1 },
  )
  return {
    title: 'Middleware and wrapper',
    description:
      'With middleware alone, a rewritten path reaches the handler and is counted nowhere. A wrapper around the handler sees every request. With a shared secret, it accepts the charge of the middleware, so that each request is charged once.',
    height: 374,
    body: [...first, border, ...second].join(''),
  }
}
