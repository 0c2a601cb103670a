/** Offers a file as a download; the page never opens it. */

export function saveBlob(name: string, blob: Blob): void {
  // The type is always application/octet-stream, so that the browser never renders the file (threats UI-1).
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
