/** The sentence about a crash: the error, and the file and line in the author's own code. */
import { expect, test } from 'vitest'
import { crashSummary } from '../../src/core/host/launch/crash-summary.ts'

const dir = '/home/ada/plan'

test.each([
  [
    'a missing package names the file that imports it',
    `node:internal/modules/package_json_reader:314
  throw new ERR_MODULE_NOT_FOUND(packageName, fileURLToPath(base), null);
Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'left-pad' imported from /home/ada/plan/resolver.ts
    at packageResolve (node:internal/modules/esm/resolve:768:81) {
  code: 'ERR_MODULE_NOT_FOUND'
}
Node.js v24.15.0`,
    "Cannot find package 'left-pad' imported from resolver.ts",
  ],
  [
    'a module in a folder of CommonJS names what to change',
    `(node:1) Warning: To load an ES module, set "type": "module" in the package.json or use the .mjs extension.
/home/ada/plan/resolver.ts:1
import { resolver } from 'resolve-platform/sdk'
^^^^^^
SyntaxError: Cannot use import statement outside a module
    at wrapSafe (node:internal/modules/cjs/loader:1800:18)`,
    'SyntaxError: Cannot use import statement outside a module. Set "type": "module" in the package.json of the resolver.',
  ],
  [
    'an error at the start names its line, not a line of a package',
    `TypeError: Cannot read properties of undefined (reading 'foo')
    at parse (file:///home/ada/plan/node_modules/x/index.js:3:1)
    at file:///home/ada/plan/src/steps.ts:12:20`,
    "TypeError: Cannot read properties of undefined (reading 'foo') (src/steps.ts:12)",
  ],
  [
    'a syntax error names the place that Node prints above it',
    `/home/ada/plan/resolver.ts:2
const y = {{
SyntaxError [ERR_INVALID_TYPESCRIPT_SYNTAX]: Unexpected token
    at parseTypeScript (node:internal/modules/typescript:68:40)`,
    'SyntaxError [ERR_INVALID_TYPESCRIPT_SYNTAX]: Unexpected token (resolver.ts:2)',
  ],
  [
    'a traceback of Python names its last frame',
    `Traceback (most recent call last):
  File "/home/ada/plan/resolver.py", line 7, in <module>
    import requests
ModuleNotFoundError: No module named 'requests'`,
    "ModuleNotFoundError: No module named 'requests' (resolver.py:7)",
  ],
])('%s', (_, output, said) => {
  expect(crashSummary(output, dir)).toBe(said)
})

test('output without an error has no summary', () => {
  expect(crashSummary('waiting for a database\n')).toBeUndefined()
})
