/**
 * oclif's Config for commands and their help. It skips oclif's own loading (package.json, plugins, commands, theme), which costs more
 * than a command may: docs/decisions/0015-libraries.md has the figures.
 */
import { Config } from '@oclif/core/config'
import { surroundings } from '../output/surroundings.ts'

let made: Config | undefined

export function oclifConfig(): Config {
  made ??= make()
  return made
}

function make(): Config {
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
