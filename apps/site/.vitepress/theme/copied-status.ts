import { defineComponent, h, onBeforeUnmount, onMounted, ref } from 'vue'

const BUTTON = '.vp-doc button.copy'

/** Says that a block of code is copied. The theme shows it by a color and a style, which no screen reader reads. */
export const CopiedStatus = defineComponent({
  setup() {
    const status = ref('')
    const watched = new WeakSet<Element>()
    function onClick({ target }: MouseEvent): void {
      if (!(target instanceof Element) || !target.matches(BUTTON) || watched.has(target)) return
      watched.add(target)
      new MutationObserver(() => {
        status.value = target.classList.contains('copied') ? 'Copied' : ''
      }).observe(target, { attributeFilter: ['class'] })
    }
    onMounted(() => window.addEventListener('click', onClick, { capture: true }))
    onBeforeUnmount(() => window.removeEventListener('click', onClick, { capture: true }))
    return () => h('p', { class: 'visually-hidden copied-status', role: 'status' }, status.value)
  },
})
