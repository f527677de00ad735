export { runtimeConfiguration, type RuntimeConfigurationOptions } from './runtime-configuration.ts'
export { partitionRecords, type PartitionRecords } from './partition-records.ts'
export { applyConfiguration, compareConfiguration, readHistory } from './apply.ts'
export { compareUndo, undoConfiguration } from './undo.ts'
export {
  checkChanges,
  configurationSize,
  configure,
  configureAs,
  readConfiguration,
  removeConfiguration,
  resetAll,
  unknownPolicies,
} from './configure.ts'
export type { ApplyOptions, ConfigurationDifference, DesiredEntry } from './apply.ts'
export type { Author, EntryChange, HistoryEntry, PastChange } from './history.ts'
export type { ConfigurationChanges } from './changes.ts'
export type { ConfigurationEntry } from './document.ts'
export type { ConfigurationSize } from './document-size.ts'
export type {
  EntrySettings,
  LastingChanges,
  Setting,
  SettingChanges,
  Settings,
  TemporaryChanges,
  TemporarySettings,
} from './settings.ts'
export type { Until } from './temporary.ts'
