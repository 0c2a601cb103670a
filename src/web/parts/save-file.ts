/** Hands the person a file; nothing of it is opened here. */

export function saveBlob(name: string, blob: Blob): void {
  // Whatever the file is, it is only ever bytes to this page (threats UI-1).
  const url = URL.createObjectURL(new Blob([blob], { type: 'application/octet-stream' }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}

export function saveText(name: string, text: string): void {
  saveBlob(name, new Blob([text]))
}
