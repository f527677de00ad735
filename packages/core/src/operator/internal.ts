// For the packages of this project alone: it may change in any release.
export { settingText, valueText } from './change-settings.ts'
export {
  assertNotRefused,
  fullSubject,
  lacksExtension,
  look,
  lookInStore,
  settingsOf,
  unlessLacking,
  usedOf,
} from './look.ts'
export { CHANGED } from './task.ts'
export { stopText } from './stop-of.ts'
export { amountOf, microDollarsOf } from './units.ts'
export { isInCalendar } from '../configuration/temporary.ts'
export { durationOf } from './until.ts'
