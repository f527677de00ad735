import { useData, withBase } from 'vitepress'
import { computed, defineComponent, h, ref } from 'vue'

/** A button that copies the Markdown of a page, and a link to it. */
export const CopyPage = defineComponent({
  setup() {
    const { page } = useData()
    const said = ref('Copy as Markdown')
    const address = computed(() => withBase(`/${page.value.relativePath}`))
    async function copy(): Promise<void> {
      const response = await fetch(address.value)
      try {
        if (!response.ok) throw new Error(response.statusText)
        await navigator.clipboard.writeText(await response.text())
        said.value = 'Copied'
      } catch {
        said.value = 'Not copied: open the Markdown instead'
      }
    }
    return () =>
      h('nav', { class: 'copy-page', 'aria-label': 'This page' }, [
        h('button', { type: 'button', onClick: copy, 'aria-live': 'polite' }, said.value),
        h('a', { href: address.value, target: '_self' }, 'Markdown'),
      ])
  },
})
