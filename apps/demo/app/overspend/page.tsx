import type { ReactNode } from 'react'
import { Overspend } from '../../components/overspend/overspend'

export default function Page(): ReactNode {
  return (
    <main>
      <Overspend />
    </main>
  )
}
