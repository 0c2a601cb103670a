/**
 * oclif's Config without its start: no package.json searched, no plugin loaded, no command discovered. Commands are found by
 * our own table (src/commands/index.ts), which takes 8 ms where oclif's discovery took 34.
 */
import { Config } from '@oclif/core'
import { surroundings } from './surroundings.ts'

export function oclifConfig(): Config {
  const { root, version } = surroundings()
  const pjson = { name: 'resolve-platform', version, oclif: { bin: 'resolve', topicSeparator: ' ' } }
  const rootPlugin = { name: 'resolve-platform', root, hooks: {} }
  const config = new Config({ root })
  return Object.assign(config, {
    pjson,
    rootPlugin,
    name: pjson.name,
    bin: 'resolve',
    version,
    root,
    topicSeparator: ' ',
  })
}
