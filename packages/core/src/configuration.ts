export {
  configure,
  configured,
  removeConfiguration,
  runtimeConfiguration,
} from './configuration/configuration.ts'
export type { RuntimeConfigurationOptions } from './configuration/configuration.ts'
export type { ConfigurationChanges } from './configuration/configuration-changes.ts'
export type { Configured } from './configuration/configuration-document.ts'
export type { Setting, SettingChanges, Settings } from './configuration/settings.ts'
