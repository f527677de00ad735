/** The files with which a framework begins. */
export interface Template {
  /** The name of its page in docs/start. */
  readonly name: string
  /** The package by which it is recognised. @default none: it is named */
  readonly dependency?: string
  readonly packages: readonly string[]
  readonly devPackages: readonly string[]
  /** True if its package.json must have the type "module". */
  readonly isModule: boolean
  readonly files: Readonly<Record<string, string>>
}
