/** Writes a small TypeScript resolver with the SDK, as an author has it: it emits one event and ends. */
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export const TYPED_EVENT = 'typed.ready'

const PROGRAM = `import { resolver } from 'resolve-platform/sdk'

interface Place {
  subject: string
}

const place: Place = { subject: 'a bridge' }

resolver({
  params: {},
  run: async (ctx) => {
    ctx.emit('${TYPED_EVENT}', { subject: place.subject as string })
    return 'done'
  },
}).serve()
`

export function typedResolver(name: string): { dir: string; name: string } {
  const dir = mkdtempSync(join(tmpdir(), 'resolve-typed-'))
  const manifest = { name, version: '1.0.0', description: 'A resolver of the bench', command: ['node', 'resolver.ts'] }
  writeFileSync(join(dir, 'manifest.json'), JSON.stringify(manifest))
  writeFileSync(join(dir, 'resolver.ts'), PROGRAM)
  return { dir, name }
}
