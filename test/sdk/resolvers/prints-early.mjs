/** Prints while its imports are still being loaded, as chatty libraries do, and reads what a child of its own prints. */
import './early-print.mjs'
import { execFileSync } from 'node:child_process'
import { resolver } from 'resolve-platform/sdk'

resolver({
  name: 'prints-early',
  version: '1.0.0',
  run({ emit }) {
    console.log('late print')
    emit('child', {
      printed: execFileSync(process.execPath, ['-e', 'console.log("grandchild")'], { encoding: 'utf8' }),
    })
  },
}).serve()
