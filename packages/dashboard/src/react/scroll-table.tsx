import type { ReactNode } from 'react'

interface ScrollTableProps {
  readonly name: string
  readonly heads: readonly string[]
  /** The heads of columns that a narrow page leaves out. @default none */
  readonly minor?: readonly string[]
  readonly children: ReactNode
}

/** A table that scrolls by itself where the page is narrow. */
export function ScrollTable({ name, heads, minor = [], children }: ScrollTableProps): ReactNode {
  const label = `${name}, a table to scroll`
  return (
    <div className="sluice-scroll" tabIndex={0} role="group" aria-label={label}>
      <table>
        <thead>
          <tr>
            {heads.map((head) => (
              <th
                key={head}
                scope="col"
                className={minor.includes(head) ? 'sluice-minor' : undefined}
              >
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  )
}
