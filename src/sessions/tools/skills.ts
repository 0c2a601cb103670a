/** The tool skill: instructions for kinds of work, which the model reads when it needs them (docs/sessions.md, Skills). */
import { basename, join, resolve } from 'node:path'
import { YamlBudget } from '../../core/bundles/front-matter.ts'
import { Tree } from '../../core/bundles/tree.ts'
import { SKILL_DESCRIPTION_MAX_CHARS, SKILL_FILE_MAX_BYTES, SKILLS_MAX } from '../../core/limits.ts'
import { object, type Static, text } from '../../core/schema/schema.ts'
import { mistaken, type Tool, told } from './tool.ts'

export interface Skill {
  name: string
  description: string
  /** The directory of its SKILL.md, without links. */
  directory: string
  /** The directory that was named, or the bundle: its links lead nowhere else. */
  root: string
}

/** The skills below these directories: `<directory>/SKILL.md`, or one in each folder of it. The first of a name counts. */
export function findSkills(directories: readonly string[]): Skill[] {
  const found = new Map<string, Skill>()
  const yaml = new YamlBudget()
  for (const tree of directories.map((one) => new Tree(resolve(one)))) {
    for (const folder of tree.isFile(FILE) ? [''] : tree.names('')) {
      const skill = readSkill(tree, folder, yaml)
      if (skill !== undefined && !found.has(skill.name) && found.size < SKILLS_MAX) found.set(skill.name, skill)
    }
  }
  return [...found.values()]
}

const skillInput = object({ name: text() })

export function skillTool(skills: readonly Skill[]): Tool {
  const known = skills.map(({ name, description }) => `- ${name}: ${description}`)
  return {
    name: 'skill',
    description: `Gives the instructions for a kind of work. Read them before you do such work.\n${known.join('\n')}`,
    input: skillInput,
    effect: 'reads',
    async run(input) {
      const { name } = input as Static<typeof skillInput>
      const skill = findByName(skills, name)
      if (skill === undefined)
        return mistaken(`There is no skill "${name}". There are: ${skills.map((one) => one.name).join(', ')}.`)
      const tree = new Tree(skill.root)
      const content = tree.read(join(tree.within(skill.directory), FILE), SKILL_FILE_MAX_BYTES)
      if (content === undefined) return mistaken(`The skill "${name}" can't be read any more.`)
      return told(`[Its files are in ${skill.directory}]\n${new YamlBudget().front(content).body.trim()}`)
    },
  }
}

/** A skill of a bundle has a namespace in its name; its own files may name it without. */
function findByName(skills: readonly Skill[], name: string): Skill | undefined {
  const found = skills.find((one) => one.name === name)
  const others = skills.filter((one) => one.name.split(':').slice(1).join(':') === name)
  return found ?? (others.length === 1 ? others[0] : undefined)
}

const FILE = 'SKILL.md'

/** Only its name and description go to the model at first. A broken front matter still tells what can be read of it. */
function readSkill(tree: Tree, folder: string, yaml: YamlBudget): Skill | undefined {
  const content = tree.read(join(folder, FILE), SKILL_FILE_MAX_BYTES)
  const found = tree.find(folder)
  if (content === undefined || found === undefined) return undefined
  const { fields } = yaml.front(content)
  const { name = basename(found.path), description = '' } = fields
  if (typeof name !== 'string' || name === '' || typeof description !== 'string') return undefined
  return {
    name: name.replace(/\s+/g, ' ').slice(0, 100),
    description: description.replace(/\s+/g, ' ').slice(0, SKILL_DESCRIPTION_MAX_CHARS),
    directory: found.path,
    root: tree.root,
  }
}
