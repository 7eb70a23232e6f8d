import type { Layer } from './layers.ts'

/**
 * The page. The form carries a key that was made with it, so that every sending of this form has the same; another form has another.
 *
 * @param key of this form
 * @param target where orders are sent
 */
export function page(key: string, target: string, layers: ReadonlySet<Layer>): string {
  return `<!doctype html>
<meta charset="utf-8">
<title>Order</title>
<form id="order" data-key="${layers.has('key') ? key : ''}">
  <label>Item <input name="item" value="lamp"></label>
  <button>Order</button>
</form>
<p id="said"></p>
<script>
${script(target, layers)}
</script>
`
}

function script(target: string, layers: ReadonlySet<Layer>): string {
  return `const form = document.getElementById('order')
form.addEventListener('submit', async (event) => {
  event.preventDefault()
  const button = form.querySelector('button')
  ${layers.has('button') ? 'if (button.disabled) return\n  button.disabled = true' : '// The button stays as it is.'}
  // Without a key of the form each click makes up one of its own.
  const key = form.dataset.key || crypto.randomUUID()
  const response = await fetch(${JSON.stringify(target)}, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': key },
    body: JSON.stringify({ item: form.elements.item.value }),
  })
  document.getElementById('said').textContent = await response.text()
})`
}
