/** A minimal oclif Config for rendering help. It skips oclif's own loading: no search for package.json, plugins or commands. */
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
