import { useData, withBase } from 'vitepress'
import { computed, defineComponent, h, ref, watch } from 'vue'

const LABEL = 'Copy as Markdown'

/** A button that copies the Markdown of a page, and a link to it. */
export const CopyPage = defineComponent({
  setup() {
    const { page } = useData()
    const said = ref(LABEL)
    const address = computed(() => withBase(`/${page.value.relativePath}`))
    watch(address, () => (said.value = LABEL))
    async function copy(): Promise<void> {
      const from = address.value
      const says = await write(read(from)).then(
        () => 'Copied',
        () => 'Not copied: open the Markdown instead',
      )
      if (from === address.value) said.value = says
    }
    return () =>
      h('nav', { class: 'copy-page', 'aria-label': 'This page' }, [
        h('button', { type: 'button', onClick: copy, 'aria-live': 'polite' }, said.value),
        h('a', { href: address.value, target: '_self' }, 'Markdown'),
      ])
  },
})

async function read(address: string): Promise<Blob> {
  const response = await fetch(address)
  if (!response.ok) throw new Error(response.statusText)
  return new Blob([await response.text()], { type: 'text/plain' })
}

/** Safari copies only what it is given at once with the click: a promise, of a browser that takes one. */
async function write(text: Promise<Blob>): Promise<void> {
  if (typeof ClipboardItem === 'undefined')
    await navigator.clipboard.writeText(await (await text).text())
  else await navigator.clipboard.write([new ClipboardItem({ 'text/plain': text })])
}
