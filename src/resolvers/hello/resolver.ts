/** The smallest resolver: one field, one line of output. */
import { resolver, text } from '../../sdk/index.ts'

resolver({
  params: { name: text({ label: 'Name', description: 'Whom to greet; the world when empty', placeholder: 'Ada' }) },
  run: ({ params }) => `Hello, ${params.name?.trim() || 'world'}!`,
}).serve()
