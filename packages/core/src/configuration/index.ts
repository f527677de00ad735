export { runtimeConfiguration } from './runtime-configuration.ts'
export { partitionRecords } from './partition-records.ts'
export {
  checkChanges,
  configure,
  readConfiguration,
  removeConfiguration,
  resetAll,
} from './configure.ts'
export type { RuntimeConfigurationOptions } from './runtime-configuration.ts'
export type { PartitionRecords } from './partition-records.ts'
export type { ConfigurationChanges } from './changes.ts'
export type { ConfigurationEntry } from './document.ts'
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
