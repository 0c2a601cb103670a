/** oclif's Config without its start, for its help: no package.json searched, no plugin loaded, no command discovered. */
import { Config } from '@oclif/core/config'
import { surroundings } from '../output/surroundings.ts'

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
