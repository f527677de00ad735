// For the packages of this project alone: it may change in any release.
export { runInBackground } from '../internal/background.ts'
export { singleFlight } from '../internal/single-flight.ts'
export { isFresh } from '../internal/freshness.ts'
export { editDocument, readDocument, type StoredDocument } from './changes.ts'
export { parseDocument } from './document.ts'
export { assertAuthor, pastChanges } from './history.ts'
export { changesBetween, putSettings, settingsAt } from './stored-entries.ts'
export { takeLastBack } from './undo.ts'
