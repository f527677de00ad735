import { ConfigError } from '@sluice/core'
import { compileRoutes, type RouteInput } from '@sluice/core/http'
import { describe, expect, it } from 'vitest'

describe('a pattern', () => {
  it.each([
    ['/v1/models/:model\\:generateContent', '/v1/models/gemini:generateContent'],
    ['/v1/Models/:modelId', '/v1/models/Gemini'],
    ['/files/:name.JSON', '/files/a.json'],
    ['/users/:id\\-Details', '/users/7-details'],
    ['/models/:name\\Chat', '/models/bigChat'],
    ['/api/{Chat}?', '/api/chat'],
    ['/v1/:id(\\d+)', '/v1/42'],
    ['/API/AI/**', '/api/ai/evaluate'],
  ])('%s matches its own path, in upper and in lower case', (pattern, path) => {
    const match = compileRoutes([{ path: pattern, id: 'ai' }])
    const spellings = [path, path.toLowerCase(), path.toUpperCase()]
    expect(spellings.map((spelling) => match('POST', spelling)?.id)).toEqual(['ai', 'ai', 'ai'])
  })

  it.each([
    ['/api/a;b'],
    ['/api//x'],
    ['/api/./x'],
    ['/api/..'],
    ['/api/%61'],
    ['/v1/:a(Foo|Bar)'],
    ['/v1/:id([A-Z]+)'],
    ['api'],
  ])('%s could never match, and is refused', (path) => {
    expect(() => compileRoutes([path])).toThrow(ConfigError)
  })

  it.each<[string, RouteInput[]]>([
    ['twice', ['/a/b', '/A/b']],
    ['with one asterisk at its end and with two', ['/a/*', { path: '/a/**', id: 'c' }]],
    ['with another name for its parameter', ['/a/:b', { path: '/a/:c', id: 'c', cost: 5 }]],
    [
      'with the methods of another',
      [
        { path: '/a', methods: ['POST', 'GET'] },
        { path: '/a', methods: ['get'] },
      ],
    ],
  ])('is refused if it is given %s, as one of the two would never count', (_, routes) => {
    expect(() => compileRoutes(routes)).toThrow(/another route/)
  })

  it('may be given once for each method', () => {
    const match = compileRoutes([
      { path: '/a', id: 'read', methods: ['GET'] },
      { path: '/a', id: 'write', methods: ['POST'] },
      { path: '/a', id: 'rest' },
    ])
    const ids = ['HEAD', 'POST', 'DELETE'].map((method) => match(method, '/a')?.id)
    expect(ids).toEqual(['read', 'write', 'rest'])
  })

  it.each([[['PSOT']], [['']], [[]]])('accepts only methods that exist, not %j', (methods) => {
    expect(() => compileRoutes([{ path: '/a', methods }])).toThrow(/POST/)
  })
})
