import { defineExtension, type ExtensionHooks } from '@sluice/core'
import { describe } from 'vitest'
import { loosely, mistakesAreNamed, type Mistake } from '../../support/mistakes.ts'
import { setUpExtension } from './support.ts'

const make = loosely(defineExtension)
const own = defineExtension({ name: 'own', connect: () => ({}) })
const connecting = (connected: unknown) => () => setUpExtension(() => connected as ExtensionHooks)

const MISTAKES: Mistake[] = [
  ['no options', () => make(undefined), 'defineExtension'],
  ['no name', () => make({ connect: () => ({}) }), 'defineExtension.name'],
  ['no connect', () => make({ name: 'own' }), 'defineExtension.connect'],
  [
    'an unknown option',
    () => make({ name: 'own', connect: () => ({}), before: () => {} }),
    'defineExtension.before',
    'unknown_option',
  ],
  ['one that connects to nothing', connecting(undefined), 'extensions.own'],
  ['a wait of 0', connecting({ maxWaitMs: 0 }), 'extensions.own.maxWaitMs'],
  ['an endless wait', connecting({ maxWaitMs: Infinity }), 'extensions.own.maxWaitMs'],
  ['a wait that is text', connecting({ maxWaitMs: '1s' }), 'extensions.own.maxWaitMs'],
  [
    'an unknown event',
    connecting({ on: { denied: () => {} } }),
    'extensions.on.denied',
    'unknown_option',
  ],
  ['a listener that is none', connecting({ on: { shadow: 1 } }), 'extensions.on.shadow'],
  ['listeners that are null', connecting({ on: null }), 'extensions.on'],
  ['two of one name', () => setUpExtension(() => ({}), { extensions: [own, own] }), 'extensions'],
]

describe('a mistake in an extension is an error that names the option', () => {
  mistakesAreNamed(MISTAKES)
})
